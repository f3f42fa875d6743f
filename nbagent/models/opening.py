"""Opening: from the name of a model to the model: whose it is, at which address, under which key."""

from __future__ import annotations

import os
import warnings
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from nbagent.errors import ConfigError
from nbagent.models import keys
from nbagent.models.providers import OLD, Provider, providers
from nbagent.redact import know_environment
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbagent.models.model import Model
    from nbagent.models.prices import Price
    from nbagent.models.remote import RemoteModel

_LOCAL = {"localhost", "127.0.0.1", "::1", "0.0.0.0"}  # noqa: S104 - an address to compare with, not to listen on


class Opened(Struct, frozen=True):
    """How a model was asked for, so that a part of it can be changed: arguments of `open_model`."""

    model: str | None = None
    base_url: str | None = None
    api: str | None = None
    api_key_env: str | None = None
    params: dict[str, Any] | None = None


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
    asked = Opened(
        model or (None if base_url else providers.default_model) or None, base_url, api, api_key_env,
        dict(params) if params else None,
    )  # fmt: skip
    if asked.model is None and not base_url:
        raise ConfigError("no model is named, and there is no default: %config NBAgent.model = 'openai:…'")
    know_environment()
    if asked.model == "test":
        if base_url or api or api_key_env or params:
            raise ConfigError("model test sends nothing: leave out base_url, api, api_key_env and params")
        from nbagent.models.dummy import TestModel

        return TestModel()
    options: dict[str, Any] = {"streaming": streaming, "price": price}
    if timeout is not None:
        options["timeout"] = timeout
    return _open(asked, options, lambda name: keys.find_or_ask(name, ask) if check_key else keys.later(name))


def LLMClient(provider: str = "openai", model: str | None = None, **options: Any) -> Model:  # noqa: N802 - its name
    """agentmaker's name for `open_model`: `LLMClient("deepseek")`, `LLMClient("openai", "gpt-5")`.

    options: those of `open_model`. agentmaker's default provider is deepseek; here it is openai. Raises ConfigError.
    """
    if others := options.keys() & {"api_key", "emulate_tools", "profile", "default_temperature"}:
        name = min(others)
        raise ConfigError(f"{name}: {_ELSEWHERE[name]}")
    return open_model(provider if model is None else f"{provider}:{model}", **options)


_ELSEWHERE = {
    "api_key": "a key is no part of a notebook: put it into the environment variable that api_key_env names",
    "emulate_tools": "not here yet; most servers know tools",
    "profile": "write base_url, api and params",
    "default_temperature": "write params={'temperature': …}",
}


def _open(asked: Opened, options: dict[str, Any], find: Callable[[str], keys.Key]) -> Model:
    """options: what the constructor takes that is not in `asked`. find: finds the key of a variable."""
    if asked.base_url:
        _check_url(asked.base_url)
    provider, name = _parse(asked.model, asked.base_url)
    url = (asked.base_url or _configured_url(provider) or provider.base_url).rstrip("/")
    _check_url(url)
    key = _key(provider, url, asked, find)
    if asked.api and provider.api == "anthropic":
        raise ConfigError(f"api: {provider.name} has one API of its own; leave `api` out")
    # What is known of a company's server holds for no other; a program such as ollama is the same wherever it runs.
    structured = provider.structured and (not provider.key_variable or _is_at(url, provider.base_url))
    options |= {
        "provider": provider.name, "base_url": url, "key": key, "params": asked.params, "structured": structured,
    }  # fmt: skip
    made = _model(provider, name, asked.api, options)
    made.opened_as = asked
    return made


def _model(provider: Provider, name: str, api: str | None, options: dict[str, Any]) -> RemoteModel:
    if provider.api == "anthropic":
        from nbagent.models.anthropic import AnthropicModel

        return AnthropicModel(name, **options)
    from nbagent.models.openai import OpenAIModel, chosen_api

    return OpenAIModel(name, api=chosen_api(api or provider.api), quirks=provider.quirks, **options)


def _parse(named: str | None, base_url: str | None) -> tuple[Provider, str]:
    """Provider and model: `openai:gpt-5`, `ollama/qwen3:8b`, `deepseek`."""
    if named is None:
        return _at(base_url or ""), "default"  # a server of one model, such as llama.cpp, takes any name
    cut = min((i for i in (named.find(":"), named.find("/")) if i > 0), default=len(named))
    provider, model = providers.get(named[:cut]), named[cut + 1 :].strip()
    if base_url and (provider is None or named[cut : cut + 1] != ":"):
        return _at(base_url), named  # `openai/gpt-oss-20b` and `mistral` are also names that servers give to models
    if provider is None:
        raise providers.unknown(named[:cut])
    if not (model or provider.model):
        raise ConfigError(f"which model of {provider.name}? Write {provider.name}:MODEL")
    return provider, model or provider.model


def _at(base_url: str) -> Provider:
    """A server that the table does not know."""
    return Provider(urlsplit(base_url).hostname or "server", base_url, quirks=OLD)


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


def _key(provider: Provider, url: str, asked: Opened, find: Callable[[str], keys.Key]) -> keys.Key | None:
    """The key that belongs to the host of this address. A key of one host is not sent to another."""
    if asked.api_key_env:
        return find(asked.api_key_env)
    if not provider.key_variable:
        return None
    host = urlsplit(url).hostname
    if asked.base_url and not _is_at(url, provider.base_url):
        if _is_private(host or ""):
            return None
        raise ConfigError(
            f"{provider.key_variable} is not sent to {host}: name the variable of its key, api_key_env: NAME"
        )
    return find(provider.key_variable)


def _is_at(url: str, home: str) -> bool:
    """Whether an address is on the same server."""
    one, other = urlsplit(url), urlsplit(home)
    return (one.scheme, one.hostname, one.port) == (other.scheme, other.hostname, other.port)


def _is_private(host: str) -> bool:
    """Whether a host is this machine or one of a local network, where a model needs no key."""
    if host in _LOCAL or host.endswith(".local") or "." not in host.strip("[]"):
        return ":" not in host or host in _LOCAL
    try:
        return ip_address(host).is_private
    except ValueError:
        return False
