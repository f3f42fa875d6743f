"""English: what nbagent itself says to a model. The source of all keys; other packs say the same."""

ENGLISH = {
    "loop.empty_reply": "Your reply was empty. Answer the task, or call a tool.",
    "loop.repeated": (
        "{tool} was called {times} times, always with the same result. Do not call it like this again: answer with "
        "what you have, or say what is missing."
    ),
    "react.style": (
        "Think before you act. Before each tool call, say in a sentence or two what you know, what is missing and why "
        "this call will help. When you know enough, answer."
    ),
    "compact.ask": (
        "This is a conversation so far:\n\n{conversation}\n\nSummarise it for somebody who goes on with it: what was "
        "asked, what was found out and decided, names and numbers. Reply with the summary only."
    ),
    "compact.told": "This is what we have said so far, in short:\n{summary}",
    "compact.noted": "I know what we have said. Let us go on.",
    "plan.plan": (
        "{question}\n\nDo not answer this yet. Break it down into the steps that lead to the answer, as few as it "
        "takes, in the order in which they have to be done; each must make sense on its own.{tools}\n\n"
        'Reply with this JSON object and nothing else: {"steps": ["the first step", "the second step"]}'
    ),
    "plan.tools": "\n\nWhile the steps are done, these tools can be used:\n{tools}",
    "plan.begin": (
        "{question}\n\nThis is worked on in steps:\n{plan}\n\n{failed}Do step {number} now, and only that: "
        "{step}\nReply with its result."
    ),
    "plan.step": "{failed}Do step {number} now, and only that: {step}\nReply with its result.",
    "plan.failed": "Step {number} ({step}) has no result: {reason}. ",
    "plan.replan": (
        "{failed}What was planned next:\n{plan}\n\nRevise that, so that it leads to the answer without the step "
        "that has no result: {question}\n\n"
        'Reply with this JSON object and nothing else: {"steps": ["the next step", "the step after that"]}'
    ),
    "plan.revised": (
        "{failed}The rest of the plan is now:\n{plan}\n\nDo step {number} now, and only that: {step}\n"
        "Reply with its result."
    ),
    "plan.synthesize": (
        "{failed}The steps are over. Now give the final answer, complete on its own, from their results. The task "
        "was:\n\n{question}"
    ),
    "reflection.critic": (
        "You are a strict reviewer. You look for what is wrong, missing or unclear in an answer, and say how to mend "
        "it. You do not rewrite it."
    ),
    "reflection.critique": (
        "Review this answer.\n\nThe task:\n{question}\n\nThe answer:\n{answer}\n\n"
        "Where it needs no change, reply with exactly {signal} and nothing else. Otherwise list what has to change."
    ),
    "reflection.refine": (
        "A reviewer says of your answer:\n{critique}\n\nWrite the answer anew, with this mended. Reply with the "
        "answer only."
    ),
    "reflection.signal": "GOOD ENOUGH",
}
"""Each text by its key; `{name}` is a place that is filled in, `{{name}}` that is no place."""
