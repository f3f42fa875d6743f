"""Providers: who offers models, where, and under which key; and `open_model`, which opens one by its name."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from difflib import get_close_matches
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from nbagent.errors import FOREIGN, ConfigError
from nbagent.models import keys
from nbagent.models.opened import Opened
from nbagent.redact import know_environment
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from importlib.metadata import EntryPoint

    from nbagent.models.model import Model
    from nbagent.models.prices import Price
    from nbagent.models.remote import RemoteModel

_APIS = ("chat", "responses", "anthropic")
_LOCAL = {"localhost", "127.0.0.1", "::1", "0.0.0.0"}  # noqa: S104 - an address to compare with, not to listen on


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
    `no_done`: its streams end without `[DONE]`."""


_MAKERS = {"gpt": "openai", "o1": "openai", "o3": "openai", "o4": "openai", "claude": "anthropic"}
"""Whose model it is that is named without its provider."""
_OLD = frozenset({"max_tokens"})
_TABLE = [
    Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    Provider("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "anthropic"),
    Provider("deepseek", "https://api.deepseek.com", "DEEPSEEK_API_KEY", model="deepseek-chat", quirks=_OLD),
    Provider("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", quirks=_OLD),
    Provider("dashscope", "https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY", quirks=_OLD),
    Provider("moonshot", "https://api.moonshot.cn/v1", "MOONSHOT_API_KEY", quirks=_OLD),
    Provider("zhipu", "https://open.bigmodel.cn/api/paas/v4", "ZHIPU_API_KEY", quirks=_OLD),
    Provider("ollama", "http://localhost:11434/v1", quirks=_OLD),
    Provider("lmstudio", "http://localhost:1234/v1", quirks=_OLD),
    Provider("vllm", "http://localhost:8000/v1", quirks=_OLD),
    Provider("llama.cpp", "http://localhost:8080/v1", model="default", quirks=_OLD),
    Provider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", quirks=_OLD),
    Provider("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    Provider("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", quirks=_OLD | {"no_stream_options"}),
    Provider("huggingface", "https://router.huggingface.co/v1", "HF_TOKEN", quirks=_OLD),
]


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


def open_model(
    model: str | Model | None = None,
    *,
    base_url: str | None = None,
    api: str | None = None,
    api_key_env: str | None = None,
    params: Mapping[str, Any] | None = None,
    timeout: float | None = None,
    streaming: bool = True,
    price: Price | None = None,
    check_key: bool = True,
    ask: bool = True,
) -> Model:
    """The model of this name: `provider:model`, `provider/model` or `provider`; None opens the configured default.

    base_url: where the server is, default the provider's own (or OPENAI_BASE_URL, ANTHROPIC_BASE_URL). api: `chat` or
    `responses`, default the provider's. api_key_env: the environment variable of the key, default the provider's.
    params: more parameters of the request, as the SDK calls them. timeout: seconds for one call, default 600.
    streaming: whether the reply is sent as it is written, default True. price: US dollars for a million tokens, default
    those of genai-prices, where it is installed. check_key: whether a missing key is an error now (the default) or only
    when something is sent. ask: whether a person is asked for a missing key, where there is one.

    Nothing is sent. Raises ConfigError for an unknown provider, a missing key, a wrong parameter.
    """
    if model is not None and not isinstance(model, str):
        return model
    named = model or ("" if base_url else providers.default_model)
    if not named and not base_url:
        raise ConfigError("no model is named, and there is no default: %config NBAgent.model = 'openai:…'")
    know_environment()
    if base_url:
        _check_url(base_url)
    provider, name = _parse(named, base_url)
    if name == "test" and provider.name == "test":
        if base_url or api or api_key_env or params:
            raise ConfigError("model test sends nothing: leave out base_url, api, api_key_env and params")
        from nbagent.models.dummy import TestModel

        return TestModel()
    url = (base_url or _configured_url(provider) or provider.base_url).rstrip("/")
    _check_url(url)
    key = _key(provider, url, base_url, api_key_env, _finder(check_key, ask))
    options: dict[str, Any] = {
        "provider": provider.name, "base_url": url, "key": key, "params": params, "streaming": streaming,
        "price": price,
    }  # fmt: skip
    if timeout is not None:
        options["timeout"] = timeout
    if api and provider.api == "anthropic":
        raise ConfigError(f"api: {provider.name} has one API of its own; leave `api` out")
    made = _client(provider, name, api or provider.api, options)
    made.opened_as = Opened(named or None, base_url, api, api_key_env, dict(params) if params else None)
    return made


def _client(provider: Provider, name: str, api: str, options: dict[str, Any]) -> RemoteModel:
    if api == "anthropic":
        from nbagent.models.anthropic import AnthropicModel

        return AnthropicModel(name, **options)
    from nbagent.models.openai import OpenAIModel, chosen_api

    return OpenAIModel(name, api=chosen_api(api), quirks=provider.quirks, **options)


def _parse(named: str, base_url: str | None) -> tuple[Provider, str]:
    """Provider and model: `openai:gpt-5`, `ollama/qwen3:8b`, `deepseek`."""
    if named == "test":
        return Provider("test", ""), "test"
    if base_url and not named:
        return _at(base_url), "default"  # a server of one model, such as llama.cpp, takes any name
    cut = min((i for i in (named.find(":"), named.find("/")) if i > 0), default=len(named))
    provider, model = providers.get(named[:cut]), named[cut + 1 :].strip()
    if base_url and provider is not None and named[cut : cut + 1] != ":":
        return _at(base_url), named  # `openai/gpt-oss-20b` and `mistral` are also names that servers give to models
    if provider is None and base_url is not None:
        return _at(base_url), named
    if provider is None:
        raise providers.unknown(named[:cut])
    if not (model or provider.model):
        raise ConfigError(f"which model of {provider.name}? Write {provider.name}:MODEL")
    return provider, model or provider.model


def _at(base_url: str) -> Provider:
    """A server that the table does not know."""
    return Provider(urlsplit(base_url).hostname or "server", base_url, quirks=_OLD)


def _finder(check_key: bool, ask: bool) -> Callable[[str], keys.Key]:
    if not check_key:
        return keys.later
    return keys.find_or_ask if ask else keys.find_or_fail


def _configured_url(provider: Provider) -> str:
    """What the SDKs' own variables say."""
    if provider.name == "anthropic":
        return os.environ.get("ANTHROPIC_BASE_URL", "")
    if provider.name != "openai":
        return ""
    if "OPENAI_API_BASE" in os.environ and "OPENAI_BASE_URL" not in os.environ:
        # Explicit, since the usual form would show a path and a line of this file.
        warnings.warn_explicit(
            "OPENAI_API_BASE is out of use and ignored; set OPENAI_BASE_URL", UserWarning, "nbagent", 1
        )
    return os.environ.get("OPENAI_BASE_URL", "")


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ConfigError(f"base_url: expected an address such as http://127.0.0.1:8000/v1 ({error})") from None
    if "@" in url or parts.query or parts.fragment:
        raise ConfigError(
            "base_url: an address takes no user, password or query; name the environment variable of a key: api_key_env"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"base_url: expected an address such as http://127.0.0.1:8000/v1, got {url!r}")


def _key(
    provider: Provider, url: str, given_url: str | None, variable: str | None, find: Callable[[str], keys.Key]
) -> keys.Key | None:
    """The key that belongs to the host of this address. A key of one host is not sent to another."""
    if variable:
        return find(variable)
    if not provider.key_variable:
        return None
    parts, own = urlsplit(url), urlsplit(provider.base_url)
    host = parts.hostname
    if given_url is not None and (parts.scheme, host, parts.port) != (own.scheme, own.hostname, own.port):
        if _is_private(host or ""):
            return None
        raise ConfigError(
            f"{provider.key_variable} is not sent to {host}: name the variable of its key, api_key_env: NAME"
        )
    return find(provider.key_variable)


def _is_private(host: str) -> bool:
    """Whether a host is this machine or one of a local network, where a model needs no key."""
    if host in _LOCAL or host.endswith(".local") or "." not in host.strip("[]"):
        return ":" not in host or host in _LOCAL
    try:
        return ip_address(host).is_private
    except ValueError:
        return False


def _provider(name: str, described: object) -> Provider:
    if isinstance(described, Provider):
        return described
    if not isinstance(described, Mapping):
        raise ConfigError(
            f"provider {name!r}: expected {{'base_url': …, 'key_variable': …}}, got {type(described).__name__}"
        )
    return _described(name, cast("Mapping[str, Any]", described))


def _described(name: str, described: Mapping[str, Any]) -> Provider:
    fields = {"base_url", "key_variable", "api", "model", "quirks"}
    for field in described:
        if field not in fields:
            raise ConfigError(f"provider {name!r}: unknown key {field!r}; known: {', '.join(sorted(fields))}")
    if not isinstance(described.get("base_url"), str):
        raise ConfigError(f"provider {name!r}: base_url is missing, such as http://127.0.0.1:8000/v1")
    if described.get("api", "chat") not in _APIS:
        raise ConfigError(f"provider {name!r}: api is one of {', '.join(_APIS)}, not {described['api']!r}")
    if isinstance(described.get("quirks"), str):
        raise ConfigError(f"provider {name!r}: quirks is a list, such as ['max_tokens']")
    fit: dict[str, Any] = {**described, "quirks": frozenset(described.get("quirks", _OLD))}
    return Provider(name, **fit)
