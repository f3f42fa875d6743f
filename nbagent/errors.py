"""Errors: everything nbagent raises on purpose.

NBAgentError
├── ConfigError          an agent, a tool or a cell is described wrongly   (also a ValueError)
│   ├── CellError        a cell's header, options or references
│   ├── DecisionError    what was said about a call that waits is no decision about it
│   ├── MissingKey       a provider's key is nowhere to be found
│   ├── StoreError       a stored run is damaged, of a later version, or not this one
│   │   └── RunHeld      another process writes the run
│   └── ToolDefinitionError   a function cannot become a tool
├── ModelError           a model gave no usable reply; `kind` says in which way
├── MemoryFailed         a memory gives no messages, or could not be told of a run
├── StoreFailed          a disk does not take or give a stored run
├── GuardrailTripped     a guardrail does not let a question or an answer pass
├── Vetoed               a hook does not let a model be called
├── RunInterrupted       a run waits for a decision that nobody here can give
└── HarnessError         the test set-up is wrong, not the agent; no tool call ever swallows it
    ├── DecisionsLeftOver  there are more decisions than calls that wait      (also an AssertionError)
    ├── ScriptExhausted  a script has fewer replies than the agent asks for   (also an AssertionError)
    ├── ScriptLeftOver   a script has more replies than were asked for        (also an AssertionError)
    └── DriftError       a replayed run asks for something else than was recorded
"""

from __future__ import annotations

from nbagent.redact import redact

__all__ = [
    "CellError",
    "ConfigError",
    "DecisionError",
    "DecisionsLeftOver",
    "DriftError",
    "GuardrailTripped",
    "HarnessError",
    "MemoryFailed",
    "MissingKey",
    "ModelError",
    "NBAgentError",
    "RunHeld",
    "RunInterrupted",
    "ScriptExhausted",
    "ScriptLeftOver",
    "StoreError",
    "StoreFailed",
    "ToolDefinitionError",
    "Vetoed",
]


FOREIGN: tuple[type[BaseException], ...] = (Exception, SystemExit)
"""What the user's code may raise where nbagent only looks at a value; KeyboardInterrupt comes from a person."""


class NBAgentError(Exception):
    """Base of all errors of nbagent. In a notebook it shows as one line, and is a real exception all the same."""

    def __init__(self, *args: object) -> None:
        super().__init__(*[redact(one) if isinstance(one, str) else one for one in args])

    def _render_traceback_(self) -> list[str]:
        # IPython asks for this before it formats a traceback (measured: nbval and nbclient still see the error).
        return [f"{type(self).__name__}: {' '.join(str(self).split())}"]


class ConfigError(NBAgentError, ValueError):
    """An agent, a tool or a cell is described wrongly; nothing has run."""


class DecisionError(ConfigError):
    """What was said about a call that waits is no decision, or belongs to no call that waits. The call still waits."""


class MissingKey(ConfigError):
    """A provider's key is nowhere to be found."""


class CellError(ConfigError):
    """The header, the options or a reference of a cell is wrong; nothing has run."""


class ToolDefinitionError(ConfigError):
    """A function cannot become a tool."""


class StoreError(ConfigError):
    """A stored run cannot be used: it is damaged, of a later version, or other than it was; the file is as it was.
    Lines below the first are a diff.

    `line`: which line of the file is wrong, from 1; 0 where it is none.
    """

    def __init__(self, message: str, *, line: int = 0) -> None:
        super().__init__(message)
        self.line = line

    def _render_traceback_(self) -> list[str]:
        return _with_lines(self)


class RunHeld(StoreError):
    """Another process writes the run. `holder`: which, and since when; empty where that is not known."""

    def __init__(self, message: str, *, holder: str = "") -> None:
        super().__init__(message)
        self.holder = holder


TRANSIENT = frozenset({"rate_limited", "overloaded", "server", "network", "timeout"})
"""The kinds of ModelError that may pass when the same request is sent again."""


KINDS = (
    "auth", "permission", "not_found", "bad_request", "context_overflow", "rate_limited", "overloaded", "server",
    "network", "timeout", "incomplete", "bad_response", "refused", "filtered", "error",
)  # fmt: skip
"""What a ModelError can be."""


class ModelError(NBAgentError):
    """A model gave no usable reply.

    `kind` is a short stable word: `auth`, `permission`, `not_found`, `bad_request`, `context_overflow`,
    `rate_limited`, `overloaded`, `server`, `network`, `timeout`, `incomplete`, `bad_response`, `refused`, `filtered`,
    or `error` for what a script says. `retry_after`: seconds that the server asks to wait, None where it does not.
    `transient`: whether the same request may succeed when it is sent again; by default some kinds are. Its message is a
    text, or what has one as its str.
    """

    def __init__(
        self, message: object, *, kind: str = "error", retry_after: float | None = None, transient: bool | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after
        self.transient = kind in TRANSIENT if transient is None else transient


class MemoryFailed(NBAgentError):
    """A memory of an agent gives no messages, or could not be told of a run."""


class StoreFailed(NBAgentError):
    """A disk does not take or give a stored run. What was to be put down is not there, and has not happened."""


class GuardrailTripped(NBAgentError):
    """A guardrail does not let pass what the user says, or what the agent answers.

    `stage`: `input` or `output`. `guardrail`: its name. `message`: why, in its words.
    """

    def __init__(self, message: str, *, stage: str = "input", guardrail: str = "") -> None:
        super().__init__(message)
        self.stage = stage
        self.guardrail = guardrail

    @property
    def message(self) -> str:
        return self.args[0]

    def __str__(self) -> str:
        return f"the {self.stage} guardrail {self.guardrail!r} has stopped the run: {self.message}"


class Vetoed(NBAgentError):
    """A hook does not let a model be called. `hook`: its name. `reason`: why, in its words."""

    def __init__(self, reason: str, *, hook: str = "") -> None:
        super().__init__(reason)
        self.hook = hook

    @property
    def reason(self) -> str:
        return self.args[0]

    def __str__(self) -> str:
        return f"the hook {self.hook!r} does not let the model be called: {self.reason}"


class RunInterrupted(NBAgentError):
    """A run waits for a decision that nobody here can give (a headless run, for example)."""


class HarnessError(NBAgentError):
    """The test set-up is wrong, not the agent. A tool that raises it never turns it into an observation."""


class ScriptExhausted(HarnessError, AssertionError):
    """A script has fewer replies than the agent asks for."""


class ScriptLeftOver(HarnessError, AssertionError):
    """A script has more replies than were asked for."""


class DecisionsLeftOver(HarnessError, AssertionError):
    """There are more decisions than calls that waited for one: the run is not the one that they were written for."""


class DriftError(HarnessError):
    """A replayed run asks for something else than was recorded. Its str says what; lines below it are a diff."""

    def _render_traceback_(self) -> list[str]:
        return _with_lines(self)


def _with_lines(error: NBAgentError) -> list[str]:
    """An error below whose first line there is a diff."""
    return [f"{type(error).__name__}: {line}" if not n else line for n, line in enumerate(str(error).splitlines())]
