"""Runs to show, made of events; each text of `full_run` can be set by its place."""

from nbagent.events import (
    Event,
    ModelReplied,
    ModelRequested,
    PromptAssembled,
    RunFinished,
    RunStarted,
    Status,
    ToolReturned,
    ToolStarted,
)
from nbagent.messages import (
    Image,
    Message,
    ModelReply,
    Observation,
    Prompt,
    Reasoning,
    Segment,
    Source,
    ToolCall,
    ToolFailure,
    ToolSchema,
    Usage,
)

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolSchema("get_weather", "Look up the weather.", SCHEMA)

PLACES = {
    "agent": "traveller",
    "model": "maker:thinker",
    "mode": "live",
    "system": "You are a helper.",
    "label": "notes",
    "variable": "value of a variable",
    "source": "city: str",
    "user": "Where to go?",
    "dropped": "text that was left out",
    "reason": "over the budget",
    "example": "asked for example",
    "history": "said before",
    "history_tool": "earlier_tool",
    "history_arguments": '{"earlier": 1}',
    "history_observation": "seen before",
    "tool": "find_place",
    "description": "Finds a place.",
    "parameter": "country",
    "parameter_text": "Where to look.",
    "reasoning": "They may like the sea.",
    "reply": "Let me look.",
    "call": "find_place_now",
    "arguments": '{"country": "Denmark"}',
    "edited": '{"country": "Norway"}',
    "observation": "a long\nobservation",
    "printed": "looking around",
    "error": "what went wrong",
    "caption": "a map of the place",
    "media": "image/x-map",
    "finish": "length",
    "stop_reason": "because it had to",
    "answer": "You should go **north**.",
}


def full_run(status: Status = "completed", **places: str) -> list[Event]:
    """A run that shows everything there is to show."""
    at = PLACES | places
    parameters = {"type": "object", "properties": {at["parameter"]: {"description": at["parameter_text"]}}}
    prompt = Prompt(
        (
            Segment("system", at["label"], at["system"], Source("template")),
            Segment("system", "", at["variable"], Source("variable", at["source"])),
            Segment("system", "page", at["dropped"], Source("framework", "web page"), False, at["reason"]),
            Segment("user", "task", at["user"], Source("template", "task")),
        ),
        (
            Message("user", at["history"]),
            Message("assistant", "", (ToolCall("h", at["history_tool"], at["history_arguments"]),)),
            Message("tool", at["history_observation"], tool_call_id="h"),
        ),
        (ToolSchema(at["tool"], at["description"], parameters),),
        examples=(Message("user", at["example"]), Message("assistant", "answered for example")),
    )
    call, other = ToolCall("1", at["call"], at["arguments"]), ToolCall("2", at["call"], "{}")
    failure = ToolFailure("exception", at["error"])
    thought = (Reasoning("maker", "{}", at["reasoning"]),)
    return [
        RunStarted("traveller-1", at["agent"], at["model"], at["mode"], 10),
        PromptAssembled(prompt),
        ModelRequested(1, "f1"),
        ModelReplied(1, ModelReply(at["reply"], (call, other), Usage(30, 10), "tool_calls", thought)),
        ToolStarted(1, 0, ToolCall("1", at["call"], at["edited"])),
        ToolReturned(
            1,
            0,
            Observation("1", at["observation"], "partial", at["printed"], (Image(b"", at["media"], at["caption"]),)),
        ),
        ToolStarted(1, 1, other),
        ToolReturned(1, 1, Observation("2", "ValueError", "error", error=failure)),
        ModelRequested(2, "f2"),
        ModelReplied(2, ModelReply("cut short", (), None, at["finish"])),
        RunFinished(status, at["answer"] if status == "completed" else None, at["stop_reason"]),
    ]


def weather_run() -> list[Event]:
    call = ToolCall("call_1", "get_weather", '{"city": "Copenhagen"}')
    answer = "It's sunny and 24C in Copenhagen today."
    prompt = Prompt(
        (
            Segment("system", "system prompt", "You are a careful ", Source("template", "system prompt")),
            Segment("system", "system prompt", "meteorologist", Source("variable", "role: str")),
            Segment("system", "system prompt", ".", Source("template", "system prompt")),
            Segment("user", "task", "What's the weather in ", Source("template", "task")),
            Segment("user", "task", "Copenhagen", Source("variable", "city: str")),
            Segment("user", "task", "?", Source("template", "task")),
        ),
        (),
        (WEATHER,),
    )
    return [
        RunStarted("weather-1", "weather", "scripted", "scripted", 10),
        PromptAssembled(prompt),
        ModelRequested(1, "f1"),
        ModelReplied(1, ModelReply("", (call,), Usage(30, 10, True), "tool_calls")),
        ToolStarted(1, 0, call),
        ToolReturned(1, 0, Observation("call_1", "sunny, 24C")),
        ModelRequested(2, "f2"),
        ModelReplied(2, ModelReply(answer, (), Usage(20, 8, True))),
        RunFinished("completed", answer),
    ]


def long_run(turns: int) -> list[Event]:
    """Many turns with small results, that end without an answer."""
    events = weather_run()[:2]
    for turn in range(1, turns + 1):
        call = ToolCall(f"call_{turn}", "get_weather", '{"city": "Copenhagen"}')
        reply = ModelReply("", (call,), Usage(20, 5, True), "tool_calls")
        observation = Observation(call.id, f"sunny, wind {turn:08}")
        events += [ModelRequested(turn, "f"), ModelReplied(turn, reply)]
        events += [ToolStarted(turn, 0, call), ToolReturned(turn, 0, observation)]
    return [*events, RunFinished("out_of_turns")]
