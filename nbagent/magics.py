"""Magics: `%%agent`, `%%plan`, `%%reflect` and their lines. `nbagent.notebook` parses, builds, runs and shows."""

# pyright: basic
# IPython is not typed; everything behind this file is checked strictly.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.core.magic import needs_local_scope, no_var_expand

from nbagent.notebook import MAGICS
from nbagent.notebook.transform import AssignedQuestion, QuestionLine, lift, make_awaiter, nesting

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from IPython.core.interactiveshell import InteractiveShell

    from nbagent.notebook.cells import Cells

_ATTRIBUTE = "_nbagent_magics"


def register(shell: InteractiveShell) -> None:
    """Adds the magics and the input transformers; takes away what an earlier load left."""
    unregister(shell)
    magics = AgentMagics(shell)
    magics.register()
    setattr(shell, _ATTRIBUTE, magics)


def unregister(shell: InteractiveShell) -> None:
    """Takes the magics and the input transformers away, where there are any."""
    magics: AgentMagics | None = getattr(shell, _ATTRIBUTE, None)
    if magics is not None:
        magics.unregister()
        delattr(shell, _ATTRIBUTE)


class AgentMagics:
    """The magics of one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._awaiter = make_awaiter(lambda: bool(shell.autoawait))
        self._loaded: Cells | None = None

    @property
    def _cells(self) -> Cells:
        if self._loaded is None:
            from nbagent.notebook.cells import Cells  # the runtime comes with the first agent cell

            self._loaded = Cells(self._shell)
        return self._loaded

    @needs_local_scope
    @no_var_expand
    def line(self, line: str, local_ns: Mapping[str, Any] | None = None) -> None:
        """Run one turn of an agent, or look after it.

        %agent NAME TASK…      one turn: sends the rest of the line to the agent NAME
        %agent NAME            shows the agent
        %agent reset NAME      forgets the conversation, and starts its script over
        %agent list            the agents of the notebook, and their conversations
        %agent view NAME       shows its newest run once more, with the figures of its tools; NAME@2 its second run,
                               NAME@ID one on disk. Where somebody is there, event by event: what was sent, forks
        %agent undo NAME       takes the newest exchange back; `clear` takes back all
        %agent fork NAME NEW   another agent that goes on from here on its own
        %agent fork NAME@N T   the run N once more from turn T on, and both side by side; with [call=0] observation='…',
                               arguments='{…}' or reply='…', or system='…' user='…'
        %agent compare A@1 B   a table and charts of runs, of any agents; `B` alone is its newest
        %agent pending         what waits for a decision, with all arguments
        %agent approve NAME    lets it run, and goes on: [CALL] [--args '{…}'] [--note '…'] [--always tool|arguments]
        %agent reject NAME     does not, and goes on: [CALL] --reason '…'; `answer NAME [CALL] TEXT` gives the result
        %agent stop NAME       ends the run that waits; `discard NAME` drops it
        %agent revoke NAME     asks again what `--always` has approved for the rest of the run: [TOOL]
        %agent runs            the runs on disk, of agents with `store:`; `runs NAME` those of one agent
        %agent resume ID       goes on with one of them, after a restart too: [--decision approve|reject|answer|stop …];
                               with `--replies N` from an earlier reply, as a run of its own
        %agent --help          the options, which stand before NAME
        """
        self._cells.run_line(line, local_ns)

    @needs_local_scope
    @no_var_expand
    def prompt(self, line: str, local_ns: Mapping[str, Any] | None = None) -> None:
        """Show a prompt with the source of each piece, and the exact request; nothing is sent.

        %prompt NAME TASK…          what a run with this task would send; input fields: --inputs '{"topic": "DAGs"}'
        %prompt NAME                what the newest run sent
        %prompt NAME@2              what the agent's second run sent
        %prompt diff NAME@1 NAME@2  what changed from the one to the other; of a saved notebook: old.ipynb:NAME@1
        %prompt requests NAME 3     the newest requests, as they were sent

        `--to FILE` at the end writes it to a file, such as prompt.json.
        """
        self._cells.run_prompt(line, local_ns)

    @needs_local_scope
    @no_var_expand
    def plan_line(self, line: str, local_ns: Mapping[str, Any] | None = None) -> None:
        """Run an agent that makes a plan first.

        %plan NAME TASK…       one run; of an agent of another strategy, with its model, prompt and tools
        %plan NAME --run       does the plan that `%%plan NAME --propose` has made; NAME.plan may be edited before
        """
        self._cells.run_line(line, local_ns, "plan")

    @needs_local_scope
    @no_var_expand
    def reflect_line(self, line: str, local_ns: Mapping[str, Any] | None = None) -> None:
        """Run an agent that has its answer reviewed.

        %reflect NAME TASK…    one run; of an agent of another strategy, with its model, prompt and tools
        """
        self._cells.run_line(line, local_ns, "reflect")

    @no_var_expand
    def plan_cell(self, line: str, cell: str | Mapping[str, Any] | None) -> Awaitable[None] | None:
        """Describe an agent that plans, and run it: it makes a plan, does its steps, and concludes.

        %%plan [NAME] [OPTIONS]
        header as in %%agent; max_turns is that of each step, replan: yes revises the plan where a step fails
        ---
        The task.

        With `--propose` only the plan is made; `NAME.plan` may be edited, and `%plan NAME --run` does it.
        """
        return self._run("plan", line, cell)

    @no_var_expand
    def reflect_cell(self, line: str, cell: str | Mapping[str, Any] | None) -> Awaitable[None] | None:
        """Describe an agent that has its answer reviewed, and run it: draft, critique, refinement, round by round.

        %%reflect [NAME] [OPTIONS]
        header as in %%agent; max_turns is the number of rounds, tools are the critic's
        ---
        The task.
        """
        return self._run("reflect", line, cell)

    @no_var_expand
    def cell(self, line: str, cell: str | Mapping[str, Any] | None) -> Awaitable[None] | None:
        """Describe an agent and run it.

        %%agent [NAME] [OPTIONS]
        model: …          header (YAML): any option by its name, such as model, tools, script, system
        ---
        The task. {{name}} inserts a variable of the notebook, \\{{ stays {{.

        Without the line `---` the whole cell is the task, for the agent that NAME already is (default: `agent`).
        The result is `NAME.last`. `%%agent --help` (with any body) lists the options. Called from code, it returns a
        coroutine: `await get_ipython().run_cell_magic("agent", line, cell)`.
        """
        return self._run("agent", line, cell)

    def _run(self, magic: str, line: str, cell: str | Mapping[str, Any] | None) -> Awaitable[None] | None:
        if isinstance(cell, str) and nesting() > 2:
            return self._cells.run_cell_plainly(line, cell, magic)
        if isinstance(cell, str):
            return self._cells.run_cell(line, cell, magic)
        # An awaited line magic comes here too, with local names (or None) in the place of a body.
        return self._cells.arun_line(line, cell, magic)

    def no_cell(self, line: str, cell: str) -> None:  # noqa: ARG002 - a magic takes its line and body
        """`%%prompt`, which is a line magic."""
        from nbagent.errors import CellError

        raise CellError(
            "`%prompt` is a line, not a cell: `%prompt NAME TASK…`; for a whole cell use `%%agent NAME --dry`"
        )

    def misplaced(self, line: str) -> None:  # noqa: ARG002 - a magic takes its line
        """`%%agent` where it is not the first line of its cell."""
        from nbagent.errors import CellError

        cells = ", ".join(f"`%%{name}`" for name in MAGICS)
        raise CellError(f"{cells}: each has to be the first line of its cell; move the code above it to another cell")

    @property
    def _pairs(self) -> dict[str, tuple[Any, Any]]:
        """The line magic and the cell magic of each name."""
        return {
            "agent": (self.line, self.cell),
            "plan": (self.plan_line, self.plan_cell),
            "reflect": (self.reflect_line, self.reflect_cell),
        }

    def register(self) -> None:
        from nbagent.notebook.config import register

        register(self._shell)
        manager = self._shell.magics_manager
        for name, (line, cell) in self._pairs.items():
            manager.register_function(line, "line", name)
            manager.register_function(cell, "cell", name)
            # IPython reads `%%agent` below other code as a line magic of this name; its own error would pass CI unseen.
            manager.register_function(self.misplaced, "line", f"%{name}")
        manager.register_function(self.prompt, "line", "prompt")
        manager.register_function(self.no_cell, "cell", "prompt")
        # By name, so that nothing is imported before there is a prompt.
        formatter: Any = self._shell.display_formatter
        formatter.mimebundle_formatter.for_type_by_name("nbagent.messages", "Prompt", _bundle)
        # First, since IPython's own cleanup drops leading blank lines, and cell lines would be counted wrongly.
        self._shell.input_transformers_cleanup.insert(0, lift)
        self._shell.input_transformer_manager.token_transformers += [QuestionLine, AssignedQuestion]
        self._shell.input_transformers_post.append(self._awaiter)

    def unregister(self) -> None:
        for kind in ("line", "cell"):
            for name in (*self._pairs, "prompt", *[f"%{name}" for name in self._pairs]):
                self._shell.magics_manager.magics[kind].pop(name, None)
        formatter: Any = self._shell.display_formatter
        formatter.mimebundle_formatter.pop("nbagent.messages.Prompt", None)
        _remove(self._shell.input_transformers_cleanup, lift)
        for one in (QuestionLine, AssignedQuestion):
            _remove(self._shell.input_transformer_manager.token_transformers, one)
        _remove(self._shell.input_transformers_post, self._awaiter)


def _bundle(prompt: Any, **_: object) -> dict[str, str]:
    from nbagent.views.dry import prompt_bundle

    return prompt_bundle(prompt)


def _remove(transformers: list[Any], one: object) -> None:
    if one in transformers:
        transformers.remove(one)
