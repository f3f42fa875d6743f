"""Chinese: the texts of the English pack, in Chinese."""

CHINESE = {
    "loop.empty_reply": "你的回复是空的。请回答任务，或者调用一个工具。",
    "loop.repeated": (
        "{tool} 已被调用 {times} 次，结果始终相同。不要再这样调用它：请用已有的信息作答，或说明还缺少什么。"
    ),
    "react.style": (
        "先思考，再行动。每次调用工具之前，先用一两句话说明你已经知道什么、还缺什么、为什么这次调用会有帮助。"
        "知道得足够多时，就给出答案。"
    ),
    "compact.ask": (
        "这是目前为止的对话：\n\n{conversation}\n\n请为接着谈下去的人做一份摘要：问了什么、查明并决定了什么，以及人名和数字。"
        "只回复摘要。"
    ),
    "compact.told": "以下是我们到目前为止所谈内容的摘要：\n{summary}",
    "compact.noted": "我已了解我们谈过的内容，请继续。",
    "plan.plan": (
        "{question}\n\n先不要回答。请把它拆分成通向答案的步骤，够用即可，按必须执行的先后顺序排列；每一步都要能单独看懂。"
        '{tools}\n\n只回复这个 JSON 对象，不要有其他内容：{"steps": ["第一步", "第二步"]}'
    ),
    "plan.tools": "\n\n执行步骤时可以使用这些工具：\n{tools}",
    "plan.begin": (
        "{question}\n\n这项任务按步骤进行：\n{plan}\n\n{failed}现在只做第 {number} 步：{step}\n回复这一步的结果。"
    ),
    "plan.step": "{failed}现在只做第 {number} 步：{step}\n回复这一步的结果。",
    "plan.failed": "第 {number} 步（{step}）没有结果：{reason}。",
    "plan.replan": (
        "{failed}接下来原本计划的是：\n{plan}\n\n请修改它，使它不依赖没有结果的那一步也能得到答案：{question}\n\n"
        '只回复这个 JSON 对象，不要有其他内容：{"steps": ["下一步", "再下一步"]}'
    ),
    "plan.revised": "{failed}剩余的计划现在是：\n{plan}\n\n现在只做第 {number} 步：{step}\n回复这一步的结果。",
    "plan.synthesize": (
        "{failed}步骤已经结束。现在请根据它们的结果给出最终答案，答案本身要完整。任务是：\n\n{question}"
    ),
    "reflection.critic": "你是一位严格的审阅者。你找出答案中错误、遗漏或不清楚的地方，并说明如何改正。你不改写答案。",
    "reflection.critique": (
        "请审阅这个答案。\n\n任务：\n{question}\n\n答案：\n{answer}\n\n"
        "如果不需要任何修改，只回复{signal}，不要有其他内容。否则请列出必须修改的地方。"
    ),
    "reflection.refine": "审阅者对你的答案提出：\n{critique}\n\n请据此改正，重新写出答案。只回复答案。",
    "reflection.signal": "已达最佳",
}
"""Each text by its key, with the places of the English one."""
