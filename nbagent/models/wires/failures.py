"""Failures: what goes wrong with a model call, as one of our kinds of error, in one line that says what to do."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from nbagent.errors import ModelError
from nbagent.models.wires.draft import Json, table, word
from nbagent.redact import redact

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHOWN = 200
_BY_STATUS = {
    401: "auth", 402: "permission", 403: "permission", 404: "not_found", 408: "timeout", 409: "server",
    429: "rate_limited", 503: "overloaded", 529: "overloaded",
}  # fmt: skip
_BY_WORD = (
    ("context_length_exceeded", "context_overflow"),
    ("insufficient_quota", "permission"),
    ("billing", "permission"),
    ("rate_limit", "rate_limited"),
    ("overloaded", "overloaded"),
    ("authentication", "auth"),
    ("invalid_api_key", "auth"),
    ("permission", "permission"),
    ("not_found", "not_found"),
    ("content_filter", "filtered"),
    ("content_policy", "filtered"),
    ("timeout", "timeout"),
    ("server_error", "server"),
    ("api_error", "server"),
    ("invalid_request", "bad_request"),
)
_OVERFLOW = re.compile(
    r"maximum context length|prompt is too long|context window|too many tokens|exceed\w* the context", re.IGNORECASE
)
_ADVICE = {
    "auth": "the key was refused; check the key variable",
    "permission": "the key may not do this, or its quota is used up",
    "not_found": "no such model or address; check the model's name and the base URL",
    "bad_request": "the request was refused",
    "context_overflow": "the request does not fit into the model's context window; clear the history or send less",
    "rate_limited": "too many requests",
    "overloaded": "the server is overloaded; try again later",
    "server": "the server failed; try again later",
    "network": "no connection; check the base URL, the network and proxy settings",
    "timeout": "no answer in time; try again, or allow more time by timeout",
    "bad_response": "the answer is not what this API sends; check the base URL",
    "incomplete": "the answer broke off; nothing of it was used",
    "filtered": "the provider's filter refused it; change the task",
}


def failure(kind: str, detail: str, *, retry_after: float | None = None, transient: bool | None = None) -> ModelError:
    """An error of this kind in one line: what to do, and in brackets what the server or the network said."""
    said = redact(" ".join(detail.split()))[:_SHOWN]
    text = _ADVICE.get(kind, "the call failed") + (f" ({said})" if said else "")
    if retry_after:
        text += f"; the server asks to wait {retry_after:,.0f} seconds"
    return ModelError(text, kind=kind, retry_after=retry_after, transient=transient)


def stream_failure(error: Json) -> ModelError:
    """An error that a server sends in the middle of a stream, or in place of an answer."""
    message = word(error.get("message")) or "no message"
    kind = _kind_by_words(error, message) or "server"
    return failure(kind, message)


def status_failure(status: int, headers: Mapping[str, str], body: object) -> ModelError:
    """A response whose status is no success."""
    error = table(table(body).get("error")) or table(body)
    message = word(error.get("message")) or word(table(body).get("error")) or _text(body)
    if 300 <= status < 400:
        target = headers.get("location", "")
        return failure("bad_response", f"status {status}: redirected to {target or 'nowhere'}, which is not followed")
    kind = _kind_by_status(status, error, message)
    return failure(
        kind, f"status {status}: {message}" if message else f"status {status}", retry_after=_retry_after(headers)
    )


def _kind_by_status(status: int, error: Json, message: str) -> str:
    words = _kind_by_words(error, "" if status == 429 else message)  # "too many tokens" of a rate is no overflow
    if words in ("context_overflow", "filtered") or (words == "permission" and status in (402, 429)):
        return words
    if status == 500 and words == "overloaded":
        return words
    return _BY_STATUS.get(status, "server" if status >= 500 else "bad_request")


def _kind_by_words(error: Json, message: str) -> str:
    """By the error's own type and code; the context window is also known by its message, of which there are many."""
    named = f"{error.get('code')} {error.get('type')}".lower()
    if _OVERFLOW.search(message):
        return "context_overflow"
    return next((kind for mark, kind in _BY_WORD if mark in named), "")


def _text(body: object) -> str:
    return body[:_SHOWN] if isinstance(body, str) else ""


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, from a number or a date; None where it is neither, or lies in the past."""
    said = headers.get("retry-after", "")
    try:
        seconds = float(said)
    except ValueError:
        seconds = _seconds_until(said)
    return seconds if seconds is not None and 0 < seconds < 1e11 else None


def _seconds_until(date: str) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        then = parsedate_to_datetime(date)
    except (TypeError, ValueError):
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return (then - datetime.now(UTC)).total_seconds()


def transport_failure(error: BaseException) -> ModelError:
    """What the SDK or its transport raised, by the names of its classes: there are two of each, and they move."""
    names = {base.__name__ for one in _chain(error) for base in type(one).__mro__}
    detail = f"{type(error).__name__}: {error}"
    cause = error.__cause__
    if cause is not None and str(cause):
        detail = f"{type(cause).__name__}: {cause}"
    return failure(_kind_by_names(names), detail)


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__) is not None and len(chain) < 5:
        chain.append(cause)
    return chain


def _kind_by_names(names: set[str]) -> str:
    if names & {"TimeoutException", "APITimeoutError", "TimeoutError"}:
        return "timeout"
    if names & {"DecodingError", "JSONDecodeError", "UnicodeDecodeError", "APIResponseValidationError"}:
        return "bad_response"
    if names & {"TransportError", "NetworkError", "APIConnectionError", "OSError", "StreamError"}:
        return "network"
    return "error"


def status_of(error: Any) -> int | None:
    """The status that an SDK's error has, None where it has none."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None
