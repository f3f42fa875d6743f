"""NotebookContext: the notebook itself as context: its variables, and the cells that ran last."""

from __future__ import annotations

import re
from itertools import chain, islice
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from nbagent.agents.base import BaseAgent
from nbagent.errors import ConfigError
from nbagent.notebook.credentials import names_a_secret
from nbagent.notebook.places import newest
from nbagent.prompt.context.base import BaseProvider
from nbagent.prompt.context.block import ContextBlock
from nbagent.prompt.context.provider import TOP_K
from nbagent.prompt.references import own_names
from nbagent.redact import redact
from nbagent.tools.serialise import describe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.prompt.context.block import ContextQuery

_LONGEST = 2_000
"""Characters of a variable's value or a cell; more is cut."""


class NotebookContext(BaseProvider):
    """The variables of the notebook as they are now, and the cells that ran last.

    `variables`: names; None (the default) for all that the notebook has made, except functions, classes, modules and
    agents. `cells`: how many of the newest cells, 3 by default, 0 for none; not the one that runs. Variables that the
    query names come first, then the ones that were set last, then the cells as they were typed. What looks like a key
    or a password, or is called one, is left out.
    """

    def __init__(
        self,
        variables: Iterable[str] | None = None,
        cells: int = 3,
        *,
        shell: InteractiveShell | None = None,
        passive: bool = True,
        active: bool = False,
        context_label: str = "NOTEBOOK",
    ) -> None:
        super().__init__(passive=passive, active=active, context_label=context_label)
        if isinstance(variables, str) or isinstance(cells, bool) or cells < 0:
            raise ConfigError(
                f"NotebookContext: expected a list of names and a number of cells from 0; got {variables!r}, {cells!r}"
            )
        self._names = None if variables is None else tuple(variables)
        self._cells = cells
        self._given_shell = shell

    def get_blocks(self, query: ContextQuery, *, top_k: int = TOP_K) -> list[ContextBlock]:
        """The variables and cells that fit, at most `top_k`. Raises ConfigError outside of IPython."""
        shell = self._shell()
        namespace = cast("Mapping[str, Any]", shell.user_ns)  # pyright: ignore[reportUnknownMemberType]
        names = self._names if self._names is not None else [n for n in own_names(namespace) if _is_data(namespace[n])]
        found = chain(self._of_variables(_sorted(names, namespace, query), namespace), self._of_cells(shell))
        return list(islice(found, top_k))

    def _shell(self) -> InteractiveShell:
        from IPython.core.getipython import get_ipython

        shell = self._given_shell or get_ipython()
        if shell is None:
            raise ConfigError("NotebookContext: there is no notebook here; give it a shell")
        return shell

    def _of_variables(self, names: Iterable[str], namespace: Mapping[str, Any]) -> Iterator[ContextBlock]:
        for name in names:
            if name not in namespace:
                raise ConfigError(f"NotebookContext: there is no variable {name!r}")
            text = f"{name} = {describe(namespace[name]).text}"
            if not names_a_secret(name) and not _holds_a_secret(text):
                yield ContextBlock(_cut(text), title=f"variable {name}: {type(namespace[name]).__name__}")

    def _of_cells(self, shell: InteractiveShell) -> Iterator[ContextBlock]:
        history: Any = shell.history_manager
        sources = [str(source).strip("\n") for source in history.input_hist_raw[:-1] if str(source).strip()]
        for text in reversed(sources[-self._cells :] if self._cells else []):
            if not _holds_a_secret(text):
                yield ContextBlock(_cut(text), title="cell")


def _sorted(names: Sequence[str], namespace: Mapping[str, Any], query: ContextQuery) -> list[str]:
    """Those that the query names first; then the ones that were set last."""
    words = set(re.findall(r"[^\W\d]\w*", query.query_text))
    sources: Sequence[Any] = list(namespace.get("In", ()))
    age = {name: (newest(name, sources), number) for number, name in enumerate(names)}
    return sorted(sorted(names, key=lambda name: age[name], reverse=True), key=lambda name: name not in words)


def _holds_a_secret(text: str) -> bool:
    """What looks like a key, and what is called one: `{"password": "…"}`, `api_key = "…"`."""
    named = re.finditer(r"([A-Za-z_]\w*)[\"']?\]?\s*[:=]", text)
    return redact(text) != text or any(names_a_secret(match[1]) for match in named)


def _is_data(value: Any) -> bool:
    return not (isinstance(value, ModuleType | type | BaseAgent | BaseProvider) or callable(value))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"
