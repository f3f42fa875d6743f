"""Hook: a function, or an object with some methods of these names, that a run asks or tells something."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from nbagent.agents.checks import brief, listed
from nbagent.errors import ConfigError
from nbagent.runtime.consult import Consult
from nbagent.tools.callables import name_of
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping

METHODS = (
    "on_event", "before_model", "before_tool", "on_run_start", "after_model", "after_tool", "on_guardrail_trip",
    "on_interrupt", "on_error", "on_run_end",
)  # fmt: skip
"""What a hook may have. Source: all but `on_event` are agentmaker's."""
_FIRST_WORDS = ("on", "before", "after")
_NEAR = 0.85


class Veto(Struct, frozen=True):
    """What `before_model` and `before_tool` return where the call must not be made; `reason` (str) says why."""

    reason: str


class Telling(Struct):
    """A method that is about an event, and what it is told of it."""

    method: str
    args: tuple[Any, ...]
    keywords: Mapping[str, Any] = {}


class Hook:
    """One hook of an agent. Raises ConfigError for what has nothing to ask or tell, and for a misspelt method."""

    def __init__(self, given: Any, name: str) -> None:
        self.name = name
        self._methods: dict[str, Callable[..., Any]] = {}
        if isinstance(given, type):
            raise ConfigError(f"hooks: expected an object, got the class {given.__name__}; write {given.__name__}()")
        for method in METHODS:
            if callable(found := getattr(given, method, None)):
                self._methods[method] = found
        _refuse_misspelt(given)
        self._listens = callable(given)
        if self._listens:
            self._call = given
        elif not self._methods:
            raise ConfigError(
                "hooks: expected a function of an event, or an object with one of the methods "
                f"{', '.join(METHODS)}; got {brief(given)}"
            )

    def has(self, method: str) -> bool:
        return method in self._methods

    def ask(self, method: str, *args: Any) -> Generator[Consult, None, Any]:
        """Calls a method that it has; gives what that returns."""
        step = Consult(self._methods[method], args, f"{method} of the hook {self.name!r}")
        yield step
        return step.value

    def told(self, event: Any, more: Telling | None) -> Iterable[Consult]:
        """What to call about an event. `more`: the method that is about events of this kind, too."""
        if self._listens:
            yield Consult(self._call, (event,), f"the hook {self.name!r}")
        for telling in (Telling("on_event", (event,)), more):
            if telling is not None and telling.method in self._methods:
                method, called = self._methods[telling.method], f"{telling.method} of the hook {self.name!r}"
                yield Consult(method, telling.args, called, telling.keywords)


def hooks_of(given: Any) -> tuple[Hook, ...]:
    """The hooks of an agent, under names of their own. Raises ConfigError."""
    hooks: list[Hook] = []
    for one in listed("hooks", given, "hooks"):
        if isinstance(one, Hook):
            hooks.append(one)
            continue
        name = own = _name(one)
        number = 1
        while any(hook.name == name for hook in hooks):
            number += 1
            name = f"{own} {number}"
        hooks.append(Hook(one, name))
    return tuple(hooks)


def _name(given: Any) -> str:
    name = getattr(given, "name", None)
    return name if isinstance(name, str) and name else name_of(given)


def _refuse_misspelt(given: Any) -> None:
    """Raises ConfigError for a method that nobody would ever call: its name is nearly one of those."""
    for name in dir(given):
        if name in METHODS or name.startswith("_") or not callable(getattr(given, name, None)):
            continue
        first = name.partition("_")[0].casefold()
        near = get_close_matches(_plain(name), [_plain(method) for method in METHODS], n=1, cutoff=_NEAR)
        if near and first.startswith(_FIRST_WORDS):
            meant = next(method for method in METHODS if _plain(method) == near[0])
            raise ConfigError(
                f"hooks: {type(given).__name__} has a method {name!r}; did you mean {meant!r}? "
                f"A hook may have {', '.join(METHODS)}"
            )


def _plain(name: str) -> str:
    return name.replace("_", "").casefold()
