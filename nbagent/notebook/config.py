"""Config: `%config NBAgent`, what holds for all cells of a notebook."""

# pyright: basic
# traitlets is not typed well enough for the strict mode.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from traitlets import Bool, Dict, Unicode
from traitlets.config import Configurable

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.core.interactiveshell import InteractiveShell


class NBAgent(Configurable):
    """Defaults of agent cells: `%config NBAgent.model = "ollama:qwen3:8b"`."""

    model = Unicode("", help="The model of agents that name none, such as openai:gpt-5.").tag(config=True)
    providers = Dict(
        help="More providers: {'mine': {'base_url': 'http://127.0.0.1:8000/v1', 'key_variable': 'MY_KEY'}}."
    ).tag(config=True)
    store = Unicode("", help="The folder for the runs of agents that name none, such as .nbagent/runs.").tag(
        config=True
    )
    live = Bool(True, help="Whether a run is shown as widgets while it goes on, where a page is there.").tag(
        config=True
    )
    dotenv = Bool(False, help="Whether keys are looked for in a file .env, too.").tag(config=True)


def register(shell: InteractiveShell) -> NBAgent:
    """Adds the settings to `%config`; those of an earlier load stay."""
    configurables: list[Any] = shell.configurables
    known = next((each for each in configurables if type(each).__name__ == "NBAgent"), None)
    if known is None:
        known = NBAgent(parent=shell)
        configurables.append(known)
    return known


def apply(config: NBAgent, shell: InteractiveShell) -> None:
    """Makes the settings hold for the models that are opened from now on."""
    from nbagent.models.keys import settings
    from nbagent.models.providers import providers

    providers.default_model = config.model
    providers.configure(config.providers)
    settings.dotenv = config.dotenv
    settings.ask = _asker(shell)


def _asker(shell: InteractiveShell) -> Callable[[str], str] | None:
    """How a person is asked for a key: not at all where nobody is there (nbclient, nbval, papermill, a script)."""
    from nbagent.notebook.front_end import somebody_is_there

    if not somebody_is_there(shell):
        return None
    from getpass import getpass

    return getpass
