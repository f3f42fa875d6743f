"""Providers: who offers models, where, and under which key."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast

from nbagent.errors import FOREIGN, ConfigError
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import EntryPoint

_APIS = ("chat", "responses", "anthropic")


class Provider(Struct, frozen=True):
    """A company or a server that offers models."""

    name: str
    base_url: str
    key_variable: str = ""
    """The environment variable of its key; empty where it needs none."""
    api: str = "chat"
    """`chat`, `responses` or `anthropic`."""
    model: str = ""
    """The model where only the provider is named; empty where one has to be named."""
    quirks: frozenset[str] = frozenset()
    """`max_tokens`: it does not know max_completion_tokens; `no_stream_options`: it refuses stream_options;
    `no_done`: its streams end without `[DONE]`; `schema_or_tools`: it takes no schema of the answer beside tools."""
    structured: bool = False
    """Whether it takes a JSON schema of the answer (`response_format`, `text.format`, `output_config.format`)."""


_MAKERS = {"gpt": "openai", "o1": "openai", "o3": "openai", "o4": "openai", "claude": "anthropic"}
"""Whose model it is that is named without its provider."""
OLD = frozenset({"max_tokens"})
"""The quirks of a server of which nothing is known."""
_EITHER = OLD | {"schema_or_tools"}
"""Those of servers that force the schema on the whole reply, so that no tool is called any more, and of Gemini, which
refuses both together. Source: ollama#8095, vllm#39929, openai-agents-python#656."""
_TABLE = [
    Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", structured=True),
    Provider("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "anthropic", structured=True),
    Provider("deepseek", "https://api.deepseek.com", "DEEPSEEK_API_KEY", model="deepseek-chat", quirks=OLD),
    Provider(
        "gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", quirks=_EITHER,
        structured=True,
    ),
    Provider("dashscope", "https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY", quirks=OLD),
    Provider("moonshot", "https://api.moonshot.cn/v1", "MOONSHOT_API_KEY", quirks=OLD),
    Provider("zhipu", "https://open.bigmodel.cn/api/paas/v4", "ZHIPU_API_KEY", quirks=OLD),
    Provider("ollama", "http://localhost:11434/v1", quirks=_EITHER, structured=True),
    Provider("lmstudio", "http://localhost:1234/v1", quirks=_EITHER, structured=True),
    Provider("vllm", "http://localhost:8000/v1", quirks=_EITHER, structured=True),
    Provider("llama.cpp", "http://localhost:8080/v1", model="default", quirks=_EITHER, structured=True),
    Provider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", quirks=OLD),
    Provider("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    Provider("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", quirks=OLD | {"no_stream_options"}),
    Provider("huggingface", "https://router.huggingface.co/v1", "HF_TOKEN", quirks=OLD),
]  # fmt: skip


def entry_points(group: str) -> Iterable[EntryPoint]:
    """What installed packages offer under this name."""
    from importlib import metadata  # not before it is needed: it brings email, csv and zipfile along

    return metadata.entry_points(group=group)


class Providers:
    """The providers that are known, by name, and the default model."""

    def __init__(self, known: Iterable[Provider]) -> None:
        self._known = {provider.name: provider for provider in known}
        self._configured: dict[str, Provider] = {}
        self._broken: dict[str, str] = {}
        """Providers that an installed package offers and that cannot be loaded, with the reason."""
        self._looked_for_more = False
        self.default_model = ""
        """What `open_model(None)` opens; empty for nothing."""

    def add(self, name: str, described: Provider | Mapping[str, Any]) -> None:
        """Adds a provider, or puts another in the place of one. Raises ConfigError naming what is wrong."""
        self._known[name] = _provider(name, described)

    def configure(self, table: Mapping[str, Provider | Mapping[str, Any]]) -> None:
        """Sets what a notebook adds to the table or changes in it; what it had set before is gone."""
        self._configured = {name: _provider(name, described) for name, described in table.items()}

    @property
    def names(self) -> tuple[str, ...]:
        self._find_more()
        return tuple({**self._known, **self._configured})

    def get(self, name: str) -> Provider | None:
        if name in self._configured:
            return self._configured[name]
        if name not in self._known:
            self._find_more()
        if name in self._broken:
            raise ConfigError(f"the provider {name!r} of an installed package cannot be loaded: {self._broken[name]}")
        return self._known.get(name)

    def unknown(self, name: str) -> ConfigError:
        near = get_close_matches(name.lower(), self.names, n=1)
        maker = next((maker for mark, maker in _MAKERS.items() if name.lower().startswith(mark)), None)
        meant = f"{maker}:{name}" if maker else near[0] if near else ""
        hint = f"; did you mean {meant!r}?" if meant else "."
        return ConfigError(
            f"no provider {name!r}{hint} Known: {', '.join(self.names)}; any other server that speaks OpenAI's "
            "language: openai:MODEL with its base_url"
        )

    def _find_more(self) -> None:
        """Those that installed packages offer, as entry points of the group `nbagent.models`."""
        if self._looked_for_more:
            return
        self._looked_for_more = True
        for point in entry_points(group="nbagent.models"):
            if point.name in self._known:
                continue
            try:
                self.add(point.name, point.load())
            except FOREIGN as error:  # another package's code
                self._broken[point.name] = f"{type(error).__name__}: {error}"


providers = Providers(_TABLE)


def _provider(name: str, described: object) -> Provider:
    if isinstance(described, Provider):
        return described
    if not isinstance(described, Mapping):
        raise ConfigError(
            f"provider {name!r}: expected {{'base_url': …, 'key_variable': …}}, got {type(described).__name__}"
        )
    return _described(name, cast("Mapping[str, Any]", described))


def _described(name: str, described: Mapping[str, Any]) -> Provider:
    fields = {"base_url", "key_variable", "api", "model", "quirks", "structured"}
    for field in described:
        if field not in fields:
            raise ConfigError(f"provider {name!r}: unknown key {field!r}; known: {', '.join(sorted(fields))}")
    if not isinstance(described.get("base_url"), str):
        raise ConfigError(f"provider {name!r}: base_url is missing, such as http://127.0.0.1:8000/v1")
    if described.get("api", "chat") not in _APIS:
        raise ConfigError(f"provider {name!r}: api is one of {', '.join(_APIS)}, not {described['api']!r}")
    if isinstance(described.get("quirks"), str):
        raise ConfigError(f"provider {name!r}: quirks is a list, such as ['max_tokens']")
    if not isinstance(described.get("structured", False), bool):
        raise ConfigError(f"provider {name!r}: structured is true or false, not {described['structured']!r}")
    fit: dict[str, Any] = {**described, "quirks": frozenset(described.get("quirks", OLD))}
    return Provider(name, **fit)
