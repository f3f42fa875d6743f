"""Runs of which some calls wait for a person, by scripts: one for each thing that can become of such a call."""

from work_samples import call, steps

from nbagent import (
    Agent,
    Answer,
    ApprovalPolicy,
    Approve,
    PlanAgent,
    ReflectionAgent,
    Reject,
    ScriptedLLM,
    Stop,
    tool,
)
from nbagent.events import ToolReturned


@tool(approval="amount > 100")
def pay(to: str, amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount} to {to}"


@tool(approval=True)
def run_code(code: str, where: str = "here") -> str:
    """Run some code."""
    return f"ran {len(code)} characters {where}"


def look(at: str) -> str:
    """Look."""
    return f"saw {at}"


CODE = 'import os\n\nfor name in os.listdir("."):\n    if name.endswith(".tmp"):\n        os.remove(name)\n'
ANN = {"to": "Ann", "amount": 120}
PAY = call("pay", ANN)
RUN = call("run_code", {"code": CODE})


def answer(request):
    return f"Done: {request.messages[-1].content.splitlines()[0]}"


def buyer(*script, **options):
    script = script or (PAY, answer)
    return Agent("buyer", ScriptedLLM(script), "You buy.", tools=[pay, run_code, look], **options)


def waiting(*script, **options):
    return buyer(*script, **options).run("Pay Ann.")


def decided(decision, *script, **options):
    agent = buyer(*script, **options)
    agent.run("Pay Ann.")
    return agent.resume(decision)


def unknown(decision=None):
    """The tool was started, and then the process died."""
    events = buyer().run("Pay Ann.", decisions=[True]).events
    cut = next(number for number, event in enumerate(events) if isinstance(event, ToolReturned))
    decide = None if decision is None else lambda pendings: dict.fromkeys([each.digest for each in pendings], decision)
    return buyer(decide=decide).replay(events[:cut])


def nested(decision=None):
    script = (call("buyer", {"task": "Buy it."}), "All is bought.")
    lead = Agent("lead", ScriptedLLM(script), "You lead.", tools=[buyer()])
    paused = lead.run("Go.")
    return paused if decision is None else lead.resume(decision)


def two_inside():
    """Two agents of one reply, whose calls have the same id."""
    tasks = [call(name, {"task": "Buy it."}) for name in ("north", "south")]
    agents = [Agent(name, ScriptedLLM([PAY, "ok"]), tools=[pay]) for name in ("north", "south")]
    return Agent("lead", ScriptedLLM([tasks, "ok"]), tools=agents).run("Go.")


def agent_asked_for():
    helper = Agent("helper", ScriptedLLM(["unused"]))
    policy = ApprovalPolicy(approve=["agent:helper"])
    script = ScriptedLLM([call("helper", {"task": "Help."}), "ok"])
    return Agent("lead", script, tools=[helper], approvals=policy).run("Go.")


def planned():
    script = (steps("Look", "Pay Ann", "Report"), "seen", PAY, "paid", "reported", "All is done.")
    return PlanAgent("planner", ScriptedLLM(script), tools=[pay]).run("Pay Ann.")


def reflected():
    script = ("a draft", call("look", {"at": "it"}), "Say more.", "better", "GOOD ENOUGH")
    policy = ApprovalPolicy(approve=["look"])
    return ReflectionAgent("writer", ScriptedLLM(script), tools=[look], approvals=policy).run("Write.")


EDIT = Approve({"to": "Bob", "amount": 5})
MORE = Approve({"code": CODE.replace(".tmp", ".log"), "where": "there"}, note="only logs\nand nothing else")
LATER = call("pay", {"to": "Bob", "amount": 150})

RUNS = {
    "waits": waiting,
    "waits with code": lambda: waiting(RUN),
    "some wait": lambda: waiting([PAY, call("pay", {"to": "Bob", "amount": 3}), RUN]),
    "approved": lambda: decided(True),
    "noted": lambda: decided(Approve(note="the last one")),
    "always": lambda: decided(Approve(always="tool"), PAY, LATER, answer),
    "always like this": lambda: decided(Approve(always="arguments"), PAY, PAY, answer),
    "edited": lambda: decided(EDIT),
    "edited code": lambda: decided(MORE, RUN, answer),
    "rejected": lambda: decided(Reject("It costs too much.")),
    "rejected without a word": lambda: decided(False),
    "answered": lambda: decided(Answer("paid yesterday")),
    "stopped": lambda: decided(Stop("enough for today")),
    "by the cell": lambda: buyer().run("Pay Ann.", decisions=[True]),
    "by the policy": lambda: buyer(decide=lambda _: True).run("Pay Ann."),
    "unknown": unknown,
    "run again": lambda: unknown(True),
    "not run again": lambda: unknown(Reject("It did.")),
    "its result": lambda: unknown(Answer("paid 120")),
    "inside": nested,
    "inside, approved": lambda: nested(True),
    "two inside": two_inside,
    "an agent": agent_asked_for,
    "in a plan": planned,
    "in a reflection": reflected,
}
