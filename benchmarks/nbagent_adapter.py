"""nbagent in a comparison of agent libraries: one run of n tool turns, plain questions, parallel tools, many runs.

`_kit` comes with the harness that loads this file; it holds the tool bodies and the counters that prove the work was
done. Each `prepare_*` returns what is timed.
"""

from __future__ import annotations

import asyncio

from _kit import ADD_ARGS, ANSWER, Count, add, drive, make_nap

NAME = "nbagent"
REQUIRES: list[str] = []
IMPORT = "import nbagent"
EXTENSION = "nbagent"
CELL = '''
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b

await get_ipython().run_cell_magic("agent", "bench", """
tools: [add]
script:
  - call: add
    args: {a: 19, b: 23}
  - the sum is done
---
add 19 and 23
""")
'''
NOTES = {
    "turns": "journal on, events made and drained; a fresh agent per run",
    "parallel": "@tool(parallel=True) must be said",
}


def _model(seconds=0.0):
    from nbagent import ScriptedLLM

    class Counted(ScriptedLLM):
        def stream(self, request):
            Count.models += 1
            return super().stream(request)

        async def astream(self, request):
            Count.models += 1
            if seconds:
                await asyncio.sleep(seconds)
            for piece in super().stream(request):
                yield piece

    return Counted


def _script(turns):
    from nbagent import ScriptedLLM

    return [ScriptedLLM.tool_call("add", ADD_ARGS) for _ in range(turns)] + [ANSWER]


def _agent(model, tools):
    from nbagent import Agent

    return Agent("a", model, "You add numbers.", tools=tools, max_turns=100_000)


def build():
    model, script = _model(), _script(1)
    return lambda: _agent(model(script), [add])


def prepare_turns(n):
    llm = _model()(_script(n))
    agent = _agent(llm, [add])

    def one():
        agent.reset()
        llm.reset()
        return agent.run("go").final_output

    return one


def prepare_plain(n):
    llm = _model()([ANSWER] * n)
    agent = _agent(llm, [])

    def many():
        llm.reset()
        for _ in range(n):
            agent.clear_history()
            answer = agent.run("hello").final_output
        return answer

    return many


def prepare_parallel(k, seconds, kind):
    from nbagent import ScriptedLLM, tool

    nap = tool(parallel=True)(make_nap(seconds, kind))
    llm = _model()([[ScriptedLLM.tool_call("nap", {"i": i}) for i in range(k)], ANSWER])
    agent = _agent(llm, [nap])

    async def one():
        agent.reset()
        return (await agent.arun("go")).final_output

    return lambda: drive(one())


def prepare_concurrent(runs, calls, seconds):
    model = _model(seconds)
    agents = [_agent(model(_script(calls - 1)), [add]) for _ in range(runs)]

    async def many():
        for agent in agents:
            agent.reset()
        results = await asyncio.gather(*(agent.arun("go") for agent in agents))
        return [result.final_output for result in results]

    return lambda: drive(many())
