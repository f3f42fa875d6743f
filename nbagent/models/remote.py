"""Remote: what all models behind a network have in common, with one body for sync and async.

The official SDK sends the request and knows the address; what comes back is read by `Exchange`.
"""

from __future__ import annotations

import asyncio
import inspect
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from msgspec.structs import replace

from nbagent.errors import ConfigError, ModelError, NBAgentError
from nbagent.messages import ModelReply, Usage
from nbagent.models.exchange import Exchange, Reader
from nbagent.models.network import Deadline, keep_deadlines, until
from nbagent.models.prices import Price, priced
from nbagent.models.windows import window_of
from nbagent.models.wires.failures import status_failure, status_of, transport_failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from nbagent.models.keys import Key
    from nbagent.models.model import Piece
    from nbagent.models.opening import Opened
    from nbagent.request import ModelRequest

IDLE = 60.0
"""Seconds of silence after which a call is given up."""
TIMEOUT = 600.0
"""Seconds after which a call is given up, by default."""
AFTER_THE_END = 0.5
"""Seconds that a server has to close its answer after the reply's end; then the connection is given up."""
PLACEHOLDER = "nbagent-puts-the-key-here"
"""What the SDK takes for the key; the real one takes its place when the request leaves."""


class RemoteModel(ABC):
    """A model that an SDK reaches. Not pickled and not copied, so that no key travels with it."""

    mode = "live"
    package: ClassVar[str]
    """The SDK's; also the provider's name, by default."""
    ours: ClassVar[set[str]]
    """The parameters that we set ourselves, or that are none of the request."""

    def __init__(
        self,
        model: str,
        *,
        provider: str | None = None,
        base_url: str,
        key: Key | None,
        params: Mapping[str, Any] | None = None,
        timeout: float = TIMEOUT,
        streaming: bool = True,
        price: Price | None = None,
        structured: bool = False,
    ) -> None:
        """structured: whether the server takes the schema of an answer; without, a request's schema is not sent."""
        self.model = model
        self.provider = provider or self.package
        self.base_url = base_url
        self.params = self._checked(params or {})
        self.timeout = _seconds(timeout)
        self.streaming = streaming
        self.price = price
        self.structured = structured
        self.opened_as: Opened | None = None
        """How `open_model` was asked for it."""
        self._key = key
        self._sync: Any = None
        self._async: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = weakref.WeakKeyDictionary()

    @property
    def name(self) -> str:
        """`provider:model`."""
        return f"{self.provider}:{self.model}"

    @property
    def has_price(self) -> bool:
        """Whether it is known what its tokens cost."""
        return priced(Usage(1_000, 1_000), self.provider, self.model, self.price).cost is not None

    @cached_property
    def context_window(self) -> int | None:
        """How many tokens fit into it; None where nobody says."""
        return window_of(self.provider, self.model)

    def stream(self, request: ModelRequest) -> Iterator[Piece]:
        """Sends the request; yields what comes, and the whole reply last. Raises ModelError."""
        seconds = self._time_for(request)
        failed: NBAgentError | None = None
        try:
            exchange, body = Exchange(self._reader()), self._body(request)
            with until(deadline := Deadline(seconds)):
                try:
                    with self._send(self._client(), body, self._timeouts(seconds)) as response:
                        exchange.head(response.headers.get("content-type", ""))
                        for chunk in response.iter_bytes():
                            yield from map(self._priced, exchange.feed(chunk))
                            _hurry(exchange, deadline)
                except Exception:
                    if not exchange.ended:
                        raise
            yield from map(self._priced, exchange.end())
        except Exception as error:  # noqa: BLE001  SDKs and their transports raise what they like
            failed = self._told(error)
        if failed is not None:
            raise failed  # out here: what the SDK raised holds the request, and that the key

    async def astream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """The same for `async for`."""
        seconds = self._time_for(request)
        failed: NBAgentError | None = None
        try:
            exchange, body = Exchange(self._reader()), self._body(request)
            client = await self._aclient()
            with until(deadline := Deadline(seconds)):
                try:
                    async with self._send(client, body, self._timeouts(seconds)) as response:
                        exchange.head(response.headers.get("content-type", ""))
                        async for chunk in response.iter_bytes():
                            for piece in map(self._priced, exchange.feed(chunk)):
                                yield piece
                            _hurry(exchange, deadline)
                except Exception:
                    if not exchange.ended:
                        raise
            for piece in map(self._priced, exchange.end()):
                yield piece
        except Exception as error:  # noqa: BLE001  SDKs and their transports raise what they like
            failed = self._told(error)
        if failed is not None:
            raise failed

    def written(self, request: ModelRequest) -> str:
        """The body of the HTTP request that would be sent, to the byte. Nothing is sent, no connection is opened."""
        import httpx2

        bodies: list[bytes] = []

        def keep(sent: Any) -> Any:
            bodies.append(sent.read())
            return httpx2.Response(200, content=b"")

        with httpx2.Client(transport=httpx2.MockTransport(keep)) as http:
            client = self._open(http, asynchronous=False)
            with self._send(client, self._body(request), self._timeouts(self.timeout)):
                return bodies[0].decode()

    @abstractmethod
    def _method(self) -> Any:
        """The SDK's method that sends, whose parameters are those there are."""

    @abstractmethod
    def _reader(self) -> Reader: ...

    @abstractmethod
    def _body(self, request: ModelRequest) -> dict[str, Any]:
        """The keyword arguments for the SDK."""

    @abstractmethod
    def _send(self, client: Any, body: dict[str, Any], timeout: Any) -> Any:
        """Sends; gives the response, whose bytes have not been read."""

    @abstractmethod
    def _open(self, http: Any, *, asynchronous: bool) -> Any:
        """The SDK's client over this transport."""

    def _client(self) -> Any:
        if self._sync is None:
            import httpx2

            http = httpx2.Client(auth=self._auth(), follow_redirects=False)
            keep_deadlines(http)
            self._sync = self._open(http, asynchronous=False)
            weakref.finalize(self, http.close)
        return self._sync

    async def _aclient(self) -> Any:
        """One for each event loop, since connections belong to one; it is closed when the loop is shut down."""
        loop = asyncio.get_running_loop()
        if loop not in self._async:
            import httpx2

            http = httpx2.AsyncClient(auth=self._auth(), follow_redirects=False)
            keep_deadlines(http)
            keeper = _open_until_the_loop_ends(http)
            await anext(keeper)
            self._async[loop] = self._open(http, asynchronous=True), keeper
        return self._async[loop][0]

    def _auth(self) -> Any:
        """Puts the key into the headers of a request as it leaves, and only where it belongs.

        The SDKs also send what they find in variables of their own (custom headers, organization, project): that goes
        to their makers' hosts only, and never in the place of the key that was chosen.
        """
        import httpx2

        key, home = self._key, httpx2.URL(self.base_url)

        class KeyInPlace(httpx2.Auth):
            def auth_flow(self, request: Any) -> Any:
                header = next(
                    (name for name, value in request.headers.items() if PLACEHOLDER in value), "authorization"
                )
                for name in list(request.headers):
                    if not _is_ordinary(name) and not (name in _OPENAIS_OWN and request.url.host == "api.openai.com"):
                        del request.headers[name]
                if key is not None and (request.url.host, request.url.port) == (home.host, home.port):
                    value = key.reveal()
                    request.headers[header] = value if header == "x-api-key" else f"Bearer {value}"
                yield request

        return KeyInPlace()

    def _checked(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Raises ConfigError for a parameter that the installed SDK does not take, or that nbagent sets itself."""
        accepted = set(inspect.signature(self._method()).parameters) - self.ours
        for name in params:
            if name in self.ours:
                how = "write max_tokens: N in its place" if "max" in name else "leave it out"
                raise ConfigError(f"params: {name!r} is set by nbagent itself; {how}")
            if name not in accepted:
                near = get_close_matches(name, accepted, n=1)
                anyway = f'to send it all the same: {{"extra_body": {{"{name}": …}}}}'
                hint = f"did you mean {near[0]!r}?" if near else anyway
                raise ConfigError(f"params: the installed {self.package} SDK takes no {name!r}; {hint}")
        extra: Any = params.get("extra_body")
        for name in extra if isinstance(extra, Mapping) else ():  # pyright: ignore[reportUnknownVariableType]
            if name in self.ours:
                raise ConfigError(f"params: extra_body may not hold {name!r}, which is set by nbagent itself")
        return dict(params)

    def _params(self, request: ModelRequest) -> dict[str, Any]:
        """The parameters of one request: the model's own, and what the request says of them."""
        return self.params | self._checked(request.settings) if request.settings else self.params

    def _timeouts(self, seconds: float) -> Any:
        import httpx2

        return httpx2.Timeout(connect=min(5.0, seconds), read=min(IDLE, seconds), write=min(30.0, seconds), pool=5.0)

    def _time_for(self, request: ModelRequest) -> float:
        return self.timeout if request.seconds_left is None else min(self.timeout, request.seconds_left)

    def _priced(self, piece: Piece) -> Piece:
        if isinstance(piece, ModelReply) and piece.usage is not None:
            return replace(piece, usage=priced(piece.usage, self.provider, self.model, self.price))
        return piece

    def _told(self, error: BaseException) -> NBAgentError:
        """The error in our words."""
        if isinstance(error, ModelError):
            told = error
        elif isinstance(error, NBAgentError):
            return error
        elif isinstance(error.__cause__, ModelError):
            told = error.__cause__  # of ours, on its way through the SDK
        else:
            status = status_of(error)
            found: Any = error
            told = (
                transport_failure(error)
                if status is None
                else status_failure(status, found.response.headers, getattr(found, "body", None))
            )
        return ModelError(
            f"{self.name}: {told}", kind=told.kind, retry_after=told.retry_after, transient=told.transient
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, provider={self.provider!r}, base_url={self.base_url!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self.name} is not pickled or copied: open it anew, open_model({self.name!r})")


def with_params(body: dict[str, Any], params: Mapping[str, Any], shared: str) -> dict[str, Any]:
    """The body with the user's parameters, which win; `shared`, an object that both may set, is joined key by key."""
    theirs: Any = params.get(shared)
    if shared in body and isinstance(theirs, Mapping):
        params = {**params, shared: {**body[shared], **theirs}}
    return {**body, **params}


_OPENAIS_OWN = ("openai-organization", "openai-project")
_ORDINARY = {
    "host", "accept", "accept-encoding", "connection", "content-length", "content-type", "user-agent",
    "transfer-encoding", "anthropic-version", "anthropic-beta",
}  # fmt: skip


def _is_ordinary(header: str) -> bool:
    return header in _ORDINARY or header.startswith("x-stainless-")


def _hurry(exchange: Exchange, deadline: Deadline) -> None:
    """A reply that is whole does not wait for a server that keeps the line open."""
    if exchange.ended:
        deadline.shorten(AFTER_THE_END)


async def _open_until_the_loop_ends(http: Any) -> AsyncIterator[None]:
    """`asyncio.run` closes the async generators that are still open when it ends; so this one closes the client."""
    try:
        yield
    finally:
        await http.aclose()


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
        raise ConfigError(f"timeout: expected seconds, more than 0, got {value!r}")
    return float(value)
