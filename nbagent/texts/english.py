"""English: what nbagent itself says to a model. The source of all keys; other packs say the same."""

ENGLISH = {
    "loop.empty_reply": "Your reply was empty. Answer the task, or call a tool.",
    "loop.repeated": (
        "{tool} was called {times} times, always with the same result. Do not call it like this again: answer with "
        "what you have, or say what is missing."
    ),
    "loop.same_id": ("not run: two calls of this reply have the same id {id}; send them again, with an id for each"),
    "loop.out_of_turns": "no answer within max_turns={turns}",
    "loop.out_of_replies": "no answer within {replies} replies",
    "loop.unread": "{reason}, and that of turn {turn} cannot be read",
    "loop.unusable": "the model gave no usable reply in turn {turn}: {what}",
    "loop.unusable_twice": "the model gave no usable reply in turn {turn}, for the second time: {what}",
    "loop.unusable_often": "the model gave no usable reply in turn {turn}, {times} times: {what}",
    "loop.is_empty": "its reply is empty",
    "loop.is_unreadable": "its answer cannot be read: {answer}",
    "loop.max_tokens": "the reply of turn {turn} reached max_tokens={max_tokens}{unrun}",
    "loop.length": (
        "the reply of turn {turn} is incomplete: it is longer than the model may write (finish reason 'length'); "
        "ask for less{unrun}"
    ),
    "loop.content_filter": (
        "the reply of turn {turn} was filtered by the provider (finish reason 'content_filter'); change the task{unrun}"
    ),
    "loop.refusal": "the reply of turn {turn} is a refusal (finish reason 'refusal'); change the task{unrun}",
    "loop.context_overflow": (
        "the reply of turn {turn} did not fit into the model's context window; clear the history, or give it less "
        "text{unrun}"
    ),
    "loop.incomplete": "the reply of turn {turn} is incomplete (finish reason {finish}){unrun}",
    "loop.unrun": "; none of its {calls} tool calls was run",
    "react.style": (
        "Think before you act. Before each tool call, say in a sentence or two what you know, what is missing and why "
        "this call will help. When you know enough, answer."
    ),
    "approval.rejected": "Not run: this call was rejected. Do not make it again like this.",
    "approval.rejected_because": "Not run: this call was rejected. The reason: {reason}",
    "approval.denied": "Not run: this call is not permitted here ({rule}). Do without it.",
    "approval.edited": "(The arguments were changed before it ran: {arguments})",
    "approval.note": "(A note on this: {note})",
    "tool.unknown": "there is no tool {tool}; your tools are: {tools}",
    "tool.unknown_none": "there is no tool {tool}: you have no tools; answer without",
    "tool.not_permitted": "the tool {tool} is not permitted here; your tools are: {tools}",
    "tool.not_permitted_none": "the tool {tool} is not permitted here: you have no tools; answer without",
    "tool.too_deep": "agents are {deep} deep inside each other here; answer without {tool}",
    "tool.vetoed": "a hook does not let it be called",
    "tool.agent": "Gives a task to {agent}, another agent.",
    "tool.agent_told": "Gives a task to {agent}, another agent. It was told: {system}",
    "tool.agent_task": "What it has to do, complete on its own: it sees nothing of this conversation.",
    "tool.agent_ended": "({status})",
    "tool.agent_ended_because": "({status}: {reason})",
    "tool.list_context_sources": "List the sources that retrieve_context can ask.",
    "tool.retrieve_context": "Look something up in one of the context sources.",
    "tool.retrieve_context_source": "The source's name, as list_context_sources gives it.",
    "tool.retrieve_context_query": "What to look for; empty for the user's own question.",
    "tool.retrieve_context_top_k": "How many passages to give at most.",
    "arguments.invalid": "invalid arguments: {problems}",
    "arguments.more": "and {count} more",
    "arguments.wrong": "{place}: expected {expected}, got {came}",
    "arguments.superfluous": "{place}: expected {expected}",
    "arguments.or": "{one} or {other}",
    "arguments.nothing": "nothing",
    "arguments.value": "a value",
    "arguments.value_of": "a value of type {type}",
    "arguments.one_of": "one of {values}",
    "arguments.no_argument": "no such argument (there are: {names})",
    "arguments.no_arguments": "no such argument (there are: none)",
    "arguments.no_key": "no such key",
    "arguments.otherwise": "otherwise: {problem}",
    "arguments.json": (
        "invalid JSON at character {place}: expected {expected}. Arguments must be one JSON object, got: {text}"
    ),
    "arguments.json_value": "a value",
    "arguments.json_name": "a name in double quotes",
    "arguments.json_comma": '"," or the end of the object or array',
    "arguments.json_colon": '":"',
    "arguments.json_end": "the end of the text",
    "arguments.json_quote": "a closing quote for the string that starts here",
    "arguments.json_control": "\\n, \\t or \\u00XX in place of a raw control character",
    "arguments.json_escape": 'one of the escapes \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX',
    "arguments.json_digits": "four hexadecimal digits after \\u",
    "arguments.json_problem": "invalid JSON: {problem}",
    "arguments.json_deep": "invalid JSON: nested too deeply in {text}",
    "arguments.json_twice": "invalid JSON: expected each key once, got {key} more than once",
    "arguments.json_large": "invalid JSON: expected a finite number, got {number}, which is too large",
    "arguments.json_constant": "invalid JSON: expected a finite number, got {name}, which JSON does not have",
    "arguments.object": "arguments: expected a JSON object, got {kind}: {text}",
    "arguments.half": "invalid arguments: half a character, an escape such as {escape} alone",
    "arguments.unchecked": "the arguments cannot be checked: {problem}",
    "arguments.no_task": "task: expected what has to be done, got an empty text",
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
    "plan.expected": ('{"steps": ["…", "…"]}, a JSON object with the list of the steps, each of them a text'),
    "plan.no_list": "there is no JSON object in it, no list, and no numbered line",
    "plan.two_lists": "there is more than one list in it, and which of them is the plan cannot be told",
    "plan.empty_lines": "the lines of its list are empty",
    "plan.not_a_list": 'its "{key}" is no list',
    "plan.no_key": 'the object has no key "steps"',
    "plan.not_a_text": 'step {number} is no text, and no object with a text as "step" either',
    "plan.step_wrong": "step {number}: {problem}",
    "plan.comma": "a comma is missing between two of its texts",
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
    "payload.message": "MESSAGE TO YOU",
    "payload.rules": "RESPONSE FORMAT REQUIREMENTS",
    "payload.output": "REQUIRED OUTPUT FIELDS AND THEIR DESCRIPTIONS",
    "payload.context": "CONTEXT",
    "payload.input": "{name} (input)",
    "context.head": "[Context]",
    "context.source": "source: {source}",
    "context.ambiguous": (
        "Ambiguous context source: {source}. Choose one of: {names} (call list_context_sources first)."
    ),
    "context.unknown": "Unknown context source: {source}. Available: {names}",
    "context.unknown_near": "Unknown context source: {source}. Available: {names} Did you mean {near}?",
    "context.top_k": "top_k: expected a whole number of at least 1, got {number}",
    "output.any": "any value",
    "output.one_of": "one of {values}",
    "output.optional": "{type}, optional",
    "output.default": "{type}, optional, default {default}",
    "format.json": (
        "Answer with exactly one JSON object and nothing else: no text around it, no code fence.\n"
        "Put keys and texts in double quotes, write line breaks in texts as \\n, and no comma after the last item."
        "{keys}"
    ),
    "format.lenient": (
        "Answer with exactly one JSON object and nothing else.\nA dict as Python writes it is understood, too.{keys}"
    ),
    "format.keys": "\nThe object has these keys: {keys}.",
    "format.paragraph": (
        "Answer with plain text, in one block for each field.\n"
        "A block begins with a line that holds the name of the field and a colon; the value follows below it.{lines}"
    ),
    "format.lines": "\nThese lines are, exactly: {lines}",
    "format.markdown": (
        "Answer in Markdown, with one heading for each field and its value below the heading.\n"
        "Write no text before the first heading.{headings}"
    ),
    "format.headings": "\nThe headings are, exactly: {headings}",
    "format.tagged": (
        "Answer with one tag for each field, and its value right behind the tag, as in: <name>value\n"
        "Write no other text. Closing tags are not needed.{tags}"
    ),
    "format.tags": "\nThe tags are, exactly: {tags}",
    "format.twins": (
        "Answer with plain text, without labels or any other frame.\nThe whole answer is used as it is{use}."
    ),
    "format.used_for": " for {names}",
    "answer.unreadable": (
        "The answer cannot be read. Expected: {expected}.\nWhat is wrong: {wrong}.\n{came}\n{advice}"
    ),
    "answer.came": "The answer was: {answer}",
    "answer.empty": "The answer was empty.",
    "answer.object": "one JSON object",
    "answer.object_with": "one JSON object with the keys {keys}",
    "answer.object_again": "Answer again with that object and nothing else: no text around it, no code fence.",
    "answer.lines": "lines that begin with {lines}",
    "answer.any_lines": "lines with a key and a colon, such as `answer:`",
    "answer.no_line": "no line begins with such a key",
    "answer.lines_again": "Answer again, each key at the beginning of a line and its value below it.",
    "answer.headings": "Markdown with the headings {headings}",
    "answer.no_heading": "there is no heading in it",
    "answer.headings_again": "Answer again, each value below its heading.",
    "answer.tags": "a text with the tags {tags}",
    "answer.any_tags": "a text with tags, such as `<answer>`",
    "answer.no_tag": "there is no such tag in it",
    "answer.tags_again": "Answer again, each value right behind its tag.",
    "answer.formatter": "what the formatter {formatter} reads",
    "answer.no_dict": "it gave {kind}, not a dict with names as keys",
    "answer.form_again": "Answer again, in the form that you were asked for.",
    "answer.invalid": (
        "The answer cannot be used. Expected the fields {names}.\nWhat is wrong: {wrong}.\n"
        "Answer again, with all of them."
    ),
    "answer.missing": "{field}: missing",
    "answer.whole": "the answer as a whole: {problem}",
    "json.none": "there is no JSON object in it",
    "json.before": "{problem}: line {line}, column {column}, before `{rest}`",
    "json.end": "{problem}: line {line}, column {column}, at the end",
    "json.deep": "it is nested too deeply",
    "json.kind": "it is {kind}, not an object",
    "json.null": "null",
    "json.boolean": "a boolean",
    "json.number": "a number",
    "json.string": "a string",
    "json.array": "an array",
    "json.twice": "the key {key} is there more than once in an object",
    "json.large": "the number {number} is too large",
    "json.constant": "{name} is no number that JSON has",
    "json.bracket": "the bracket `{bracket}` closes none that is open, near `{rest}`",
}
"""Each text by its key; `{name}` is a place that is filled in, `{{name}}` that is no place."""
