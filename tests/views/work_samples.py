"""Runs of workflows and of agents inside agents, by scripts."""

import json

from nbagent import Agent, ScriptedLLM
from nbagent.agents.plan_agent import PlanAgent
from nbagent.agents.reflection_agent import ReflectionAgent
from nbagent.agents.sub_agent import AgentTool
from nbagent.runtime.limits import Limits

call = ScriptedLLM.tool_call


def get_weather(city: str) -> str:
    """Look up the weather."""
    if city == "Atlantis":
        raise ValueError("no such city: Atlantis")
    return f"sunny, 24C in {city}"


def steps(*titles):
    """A plan as a model writes it."""
    return json.dumps({"steps": titles})


def planner(*script, **options):
    options = {"tools": [get_weather], **options}
    return PlanAgent("solver", ScriptedLLM(script), "You are a careful meteorologist.", **options)


COPENHAGEN = (call("get_weather", {"city": "Copenhagen"}), "It is sunny, 24C in Copenhagen.")
TITLES = ("Look up Copenhagen", "Compare with Oslo", "Say which is warmer")


def plan_run():
    """Three steps, all done."""
    script = (steps(*TITLES), *COPENHAGEN, "Oslo: 18C.", "Copenhagen.", "**Copenhagen** is warmer.")
    return planner(*script).run("Which is warmer, Copenhagen or Oslo?")


def replanned_run():
    """The second step fails; its plan has one more left, and the new one keeps that and adds two."""
    atlantis = call("get_weather", {"city": "Atlantis"})
    old = steps("Look up Copenhagen", "Look up Atlantis", "Ask a poet", "Compare the two")
    new = steps("Look up Oslo", "Compare the two", "Explain what is missing")
    script = (old, *COPENHAGEN, atlantis, atlantis, new, "18C.", "Copenhagen.", "No Atlantis.", "Copenhagen is warmer.")
    return planner(*script, replan=True, max_turns=2).run("Compare Copenhagen with Atlantis.")


def limited_run():
    """Ends in the middle of the second step of three."""
    script = (steps(*TITLES), *COPENHAGEN, call("get_weather", {"city": "Oslo"}), "unused")
    return planner(*script, limits=Limits(max_llm_calls=4)).run("Which is warmer?")


DRAFT = "DAGs are graphs with direction. Their nodes can be put in an order.\n\nThey have many uses."
REFINED = (
    "A DAG is a graph with direction and without cycles. Its nodes can be put in an order.\n\nThey have many uses."
)


def reflection_run(*more, draft=DRAFT, critique="Say what it is.", refined=REFINED, end="GOOD ENOUGH", **options):
    """Two rounds, of which the second passes."""
    script = ScriptedLLM([draft, critique, refined, end, *more])
    return ReflectionAgent("writer", script, "You write for beginners.", **options).run("Explain DAGs.")


def translator(*script):
    return Agent("translator", ScriptedLLM(script), "You translate into Danish.")


def nested_run():
    """A reply that calls another agent twice."""
    asked = [call("translator", {"task": task}) for task in ("It is sunny.", "It rains.")]
    script = (call("get_weather", {"city": "Copenhagen"}), asked, "Det er solrigt. Det regner.")
    tools = [get_weather, AgentTool(translator("Det er solrigt.", "Det regner."))]
    return Agent("host", ScriptedLLM(script), "You are a host.", tools=tools).run("How is the weather?")


def deep_run():
    """An agent that asks one that asks a planner, one of whose steps asks a fourth."""
    observer = Agent("observer", ScriptedLLM([COPENHAGEN[0], "24C"]), "You look.", tools=[get_weather])
    script = (steps("Ask", "Sum up"), call("observer", {"task": "weather?"}), "24C.", "Nice.", "Nice weather: 24C.")
    plan = PlanAgent("planner", ScriptedLLM(script), "You plan.", tools=[AgentTool(observer)])
    manager = Agent(
        "manager", ScriptedLLM([call("planner", {"task": "Find out."}), "It is nice."]), tools=[AgentTool(plan)]
    )
    script = ScriptedLLM([call("manager", {"task": "Report."}), "All is well."])
    return Agent("boss", script, "You are the boss.", tools=[AgentTool(manager)]).run("Well?")
