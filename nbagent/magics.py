"""Magics: `%%agent` and `%agent`. They parse, build, run and show through `nbagent.notebook`, and know no more."""

# pyright: basic
# IPython is not typed; everything behind this file is checked strictly.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.core.magic import needs_local_scope, no_var_expand

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
        if isinstance(cell, str) and nesting() > 2:
            return self._cells.run_cell_plainly(line, cell)
        if isinstance(cell, str):
            return self._cells.run_cell(line, cell)
        # An awaited line magic comes here too, with local names (or None) in the place of a body.
        return self._cells.arun_line(line, cell)

    def no_cell(self, line: str, cell: str) -> None:  # noqa: ARG002 - a magic takes its line and body
        """`%%prompt`, which is a line magic."""
        from nbagent.errors import CellError

        raise CellError(
            "`%prompt` is a line, not a cell: `%prompt NAME TASK…`; for a whole cell use `%%agent NAME --dry`"
        )

    def misplaced(self, line: str) -> None:  # noqa: ARG002 - a magic takes its line
        """`%%agent` where it is not the first line of its cell."""
        from nbagent.errors import CellError

        raise CellError("`%%agent` has to be the first line of its cell; move the code above it to another cell")

    def register(self) -> None:
        from nbagent.notebook.config import register

        register(self._shell)
        manager = self._shell.magics_manager
        manager.register_function(self.line, "line", "agent")
        manager.register_function(self.cell, "cell", "agent")
        manager.register_function(self.prompt, "line", "prompt")
        manager.register_function(self.no_cell, "cell", "prompt")
        # By name, so that nothing is imported before there is a prompt.
        formatter: Any = self._shell.display_formatter
        formatter.mimebundle_formatter.for_type_by_name("nbagent.messages", "Prompt", _bundle)
        # IPython reads `%%agent` below other code as a line magic of this name; its own error would pass CI unseen.
        manager.register_function(self.misplaced, "line", "%agent")
        # First, since IPython's own cleanup drops leading blank lines, and cell lines would be counted wrongly.
        self._shell.input_transformers_cleanup.insert(0, lift)
        self._shell.input_transformer_manager.token_transformers += [QuestionLine, AssignedQuestion]
        self._shell.input_transformers_post.append(self._awaiter)

    def unregister(self) -> None:
        for kind in ("line", "cell"):
            for name in ("agent", "prompt", "%agent"):
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
