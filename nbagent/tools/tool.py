"""Tool: a function that a model may call."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import re
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, cast, overload

from typing_extensions import ParamSpec, TypeVar

from nbagent.errors import ConfigError, ToolDefinitionError
from nbagent.tools.callables import bound_values, code_of, doc_of, name_of
from nbagent.tools.condition import Condition
from nbagent.tools.schema import Interface, interface

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbagent.messages import ToolSchema

P = ParamSpec("P", default=...)
R = TypeVar("R", default=Any)

OnError = Literal["observe", "raise"]
Effect = Literal["read", "write"]

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)
"""What every provider takes as the name of a tool."""


class Tool(Generic[P, R]):
    """A function with what a model needs to know about it. Calling the tool calls the function.

    `function` is a function, bound method, functools.partial or object with `__call__`, async ones too; a Tool is
    taken apart first. Its parameters need types; its docstring describes it and them.

    - `name`: str of letters, digits, `_` and `-`, at most 64; by default the function's.
    - `description`: str; by default the docstring without its sections.
    - `parallel`: bool, False; whether it may run beside other calls of the same reply.
    - `idempotent`: bool, False; whether running it twice does no harm.
    - `effect`: `"read"` for a tool that changes nothing outside, `"write"`, or None (the default), which counts as
      that.
    - `approval`: whether a person has to approve each call: bool; or a str, a condition about its arguments, such as
      `"amount > 100"`; None (the default) leaves that to the agent's policy.
    - `on_error`: `"observe"` (the default) tells the model about an exception, `"raise"` ends the run with it.
    - `max_chars`: int, 20,000; how much of its text the model reads, head and tail.

    What it prints and warns goes into its observation; not so what threads, subprocesses and log handlers of its own
    write. Raises ToolDefinitionError. Inside a class, it is made when an object's method is first used.
    """

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]
    origin: str
    """Where it comes from: `function`, `mcp:SERVER`, `agent:NAME`, or `context:NAME` for what asks context providers.
    Permissions go by it: no server has a say in it, and a tool that is made of another one keeps it."""

    varies: ClassVar[bool] = False
    """Whether its schema may be another one the next time."""

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        parallel: bool = False,
        idempotent: bool = False,
        effect: Effect | None = None,
        approval: bool | str | None = None,
        on_error: OnError = "observe",
        max_chars: int = 20_000,
    ) -> None:
        self.origin = _origin_of(function)
        function = _without_tool(function)
        _check(function)
        self.function: Callable[P, R] = function
        self.name = _checked_name(function, name)
        self._description = description
        self.parallel = parallel
        self.idempotent = idempotent
        self.effect = _checked_effect(self.name, effect)
        self.approval = _checked_approval(self.name, approval)
        self.on_error: OnError = _checked_on_error(self.name, on_error)
        self.max_chars = _checked_max_chars(self.name, max_chars)
        self.is_async = _is_async(function)
        self._method_interface: Interface | None = None
        _look_like(self, function)
        if not _is_defined_in_class(function):
            _ = self._interface  # what is wrong with a function is said where it is defined

    @cached_property
    def _interface(self) -> Interface:
        return interface(self.function, self.name, self._description)

    @property
    def schema(self) -> ToolSchema:
        """How it is described to a model; made once, but for tools that vary."""
        return self._interface.schema

    @property
    def description(self) -> str:
        """The text that the model reads about it."""
        return self.schema.description

    @property
    def repeats(self) -> bool:
        """Whether it may run again where nobody knows whether it ran."""
        return self.idempotent or self.effect == "read"

    @property
    def source(self) -> str:
        """A digest of its code and of what a model is told of it, which a decision about a call is bound to; the same
        in each process. Of what the code works on it knows what `functools.partial` has put in, and no more."""
        said = json.dumps(
            [code_of(self.function), bound_values(self.function), self.schema.as_openai()], sort_keys=True
        )  # fmt: skip
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def bind(self, arguments: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional and keyword arguments that a call's JSON text means.

        Raises InvalidArguments, whose str is for the model. Omitted parameters are left to the function's defaults.
        """
        return self._interface.bind(arguments)

    def retold(self, name: str, description: str, parameters: Mapping[str, str]) -> Tool[P, R]:
        """The same under another name, in other words. `parameters`: descriptions of some, by name."""
        made, known = copy(self), self._interface
        made.name = name
        made.__dict__["_interface"] = replace(known, schema=known.schema.retold(name, description, parameters))
        return made

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: type) -> Tool[P, R]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Tool[..., R]: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> Tool[..., R]:
        """As a method of a class: the tool bound to the object. All objects share one schema."""
        bind = getattr(type(self.function), "__get__", None)
        bound = self.function if bind is None else bind(self.function, instance, owner)
        if bound is self.function:
            return self
        if self._method_interface is None:
            self._method_interface = interface(bound, self.name, self._description)
        return self._bound(bound, self._method_interface)

    def _bound(self, function: Callable[..., R], made: Interface) -> Tool[..., R]:
        tool = cast("Tool[..., R]", object.__new__(type(self)))
        tool.__dict__.update(self.__dict__)
        tool.function = function
        tool.is_async = _is_async(function)
        _look_like(tool, function)
        tool.__dict__["_interface"] = made
        return tool

    def __repr__(self) -> str:
        usual = {
            "parallel": False, "idempotent": False, "effect": None, "approval": None, "on_error": "observe",
            "max_chars": 20_000,
        }  # fmt: skip
        other = [f", {key}={getattr(self, key)!r}" for key, value in usual.items() if getattr(self, key) != value]
        return f"Tool({self.name!r}{''.join(other)})"


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    parallel: bool = False,
    idempotent: bool = False,
    effect: Effect | None = None,
    approval: bool | str | None = None,
    on_error: OnError = "observe",
    max_chars: int = 20_000,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Makes a function a tool: `@tool`, or `@tool(name=..., parallel=True)`. The options are those of `Tool`."""
    if function is None:
        return functools.partial(Tool, **options)
    return Tool(function, **options)


def as_tool(thing: Any) -> Tool:
    """`thing` as a Tool: a Tool as it is, else a Tool of the callable; raises ToolDefinitionError for anything else."""
    if not isinstance(thing, Tool | type) and callable(offered := getattr(thing, "as_tool", None)):
        thing = offered()  # as an agent does
    made: Tool = cast("Tool", thing) if isinstance(thing, Tool) else Tool(thing)
    _ = made.schema  # a method taken from its class, and not from an object, is refused here
    return made


def _origin_of(function: Any) -> str:
    return cast("Tool", function).origin if isinstance(function, Tool) else "function"


def _without_tool(function: Any) -> Any:
    return cast("Tool", function).function if isinstance(function, Tool) else function


def _look_like(tool: Tool[..., Any], function: Any) -> None:
    """For `help`, `inspect.signature` and IPython's `?`."""
    tool.__wrapped__ = function
    tool.__name__ = getattr(function, "__name__", tool.name)
    tool.__qualname__ = getattr(function, "__qualname__", tool.__name__)
    tool.__module__ = getattr(function, "__module__", None) or type(function).__module__
    tool.__doc__ = doc_of(function)


def _check(function: Any) -> None:
    if isinstance(function, staticmethod | classmethod):
        return  # below @tool in a class; __get__ unwraps them
    if callable(function) and not isinstance(function, type):
        return
    if isinstance(function, str):
        got = f"the string {function[:60]!r}; pass the function itself, not its name and not what it returns"
    elif isinstance(function, type):
        got = f"the class {function.__name__}; pass a function, or an object of the class if it has __call__"
    else:
        got = f"an object of type {type(function).__name__}; pass the function itself, without calling it"
    raise ToolDefinitionError(f"a tool is a function, a method, a partial or an object with __call__; got {got}")


def _checked_name(function: Any, name: str | None) -> str:
    chosen: Any = name_of(function) if name is None else name
    if isinstance(chosen, str) and NAME.fullmatch(chosen):
        return chosen
    hint = 'tool(name="...")(lambda: ...)' if chosen == "<lambda>" else '@tool(name="...")'
    raise ToolDefinitionError(
        f"a tool's name is 1 to 64 letters, digits, _ or -; got {chosen!r}; give it one with {hint}"
    )


def _checked_on_error(name: str, on_error: Any) -> OnError:
    if on_error in ("observe", "raise"):
        return on_error
    raise ToolDefinitionError(f"tool {name!r}: on_error must be 'observe' or 'raise', got {on_error!r}")


def _checked_effect(name: str, effect: Any) -> Effect | None:
    if effect in (None, "read", "write"):
        return effect
    raise ToolDefinitionError(f"tool {name!r}: effect must be 'read' or 'write', got {effect!r}")


def _checked_approval(name: str, approval: Any) -> bool | str | None:
    if approval is None or isinstance(approval, bool):
        return approval
    if not isinstance(approval, str) or not approval.strip():
        raise ToolDefinitionError(
            f"tool {name!r}: approval must be True, False or a condition such as 'amount > 100', got {approval!r}"
        )
    try:
        Condition(approval)
    except ConfigError as error:
        raise ToolDefinitionError(f"tool {name!r}: approval: {error}") from None
    return approval


def _checked_max_chars(name: str, max_chars: Any) -> int:
    if type(max_chars) is int and max_chars > 0:
        return max_chars
    raise ToolDefinitionError(f"tool {name!r}: max_chars must be a whole number above 0, got {max_chars!r}")


def _is_async(function: Any) -> bool:
    while isinstance(function, functools.partial):
        function = cast("functools.partial[Any]", function).func
    if isinstance(function, Tool):
        return cast("Tool", function).is_async
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _is_defined_in_class(function: Any) -> bool:
    """Whether it is, so far, a function in the body of a class: its `self` is not there yet."""
    if isinstance(function, staticmethod | classmethod):
        return True
    around = getattr(function, "__qualname__", "").rpartition(".")[0]
    return inspect.isfunction(function) and around != "" and not around.endswith("<locals>")
