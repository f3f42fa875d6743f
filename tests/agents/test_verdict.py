"""Verdict: what passes an answer, and what only looks like it."""

from __future__ import annotations

import string
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbagent.agents.verdict import MAX_AROUND, passes
from nbagent.errors import ConfigError

ENGLISH = ("GOOD ENOUGH",)
CHINESE = ("已达最佳",)

# The first lines, here and of the Chinese ones below, are the texts that agentmaker's search was measured with; there
# `NOT GOOD ENOUGH` passes, and `good enough` and `已经已达最佳` do not.

PASSES = [
    "GOOD ENOUGH", "GOOD ENOUGH.", '"GOOD ENOUGH"', "**GOOD ENOUGH**", "  GOOD ENOUGH  ", "\n\nGOOD ENOUGH\n",
    "good enough", "Good Enough", "GOOD  ENOUGH", "GOOD\nENOUGH", "GOOD-ENOUGH", "_GOOD ENOUGH_",
    "Good Enough!", "GOOD_ENOUGH", "`GOOD ENOUGH`", "# GOOD ENOUGH", "### **GOOD ENOUGH**", "**GOOD** **ENOUGH**.",
    "“GOOD ENOUGH”", "«GOOD ENOUGH»", "‘GOOD ENOUGH.’", "「GOOD ENOUGH」", "【GOOD ENOUGH】", "[GOOD ENOUGH]",
    "(GOOD ENOUGH)", "<GOOD ENOUGH>", "> GOOD ENOUGH", "- GOOD ENOUGH", "GOOD ENOUGH…", "¡GOOD ENOUGH!",
    "GOOD\u00a0ENOUGH", "GOOD\u2011ENOUGH", "GOOD – ENOUGH", "\ufeffGOOD ENOUGH", "ＧＯＯＤ　ＥＮＯＵＧＨ！",
    "GOOD\r\nENOUGH\r\n",
    "```\nGOOD ENOUGH\n```", "```text\nGOOD ENOUGH\n```", "GOOD ENOUGH\n---", "***\nGOOD ENOUGH\n***",
    "<think>It is NOT GOOD ENOUGH, or is it?</think>\nGOOD ENOUGH", "Hm, not yet? But yes.</think>GOOD ENOUGH",
    "'GOOD ENOUGH'", "\u200bGOOD ENOUGH\u200e",
]  # fmt: skip
FAILS = [
    "NOT GOOD ENOUGH", "This is not yet GOOD ENOUGH because X", "GOOD ENOUGHLY", "ISGOOD ENOUGH",
    "", " \n ", "***", "...", "?", "GOOD", "ENOUGH GOOD", "GOODENOUGH", "GOOD, ENOUGH", "not yet GOOD ENOUGH because X",
    "If it named the source it would be GOOD ENOUGH", "Is it GOOD ENOUGH?", "GOOD ENOUGH?", "GOOD ENOUGH!?",
    "GOOD ENOUGH ？", "GOOD ENOUGH, but fix the date", "GOOD ENOUGH,", "GOOD ENOUGH:", "GOOD ENOUGH: no",
    "GOOD ENOUGH -",
    "NOT\nGOOD ENOUGH", "almost GOOD ENOUGH", "GOOD ENOUGH for a first draft", "NOT **GOOD ENOUGH**", "~~GOOD ENOUGH~~",
    "- [ ] GOOD ENOUGH", "☐ GOOD ENOUGH", "❌ GOOD ENOUGH", "It is fine. GOOD ENOUGH", "GOOD ENOUGH GOOD ENOUGH",
    "<think>\nI should say\nGOOD ENOUGH", "<think>\nIt names all.\nGOOD ENOUGH", "<think>GOOD ENOUGH</think>",
    "<think>GOOD ENOUGH</think>\nThe date is wrong.",
]  # fmt: skip


@pytest.mark.parametrize("critique", PASSES)
def test_the_signal_alone_passes_however_it_is_written(critique):
    assert passes(critique, ENGLISH)


@pytest.mark.parametrize("critique", FAILS)
def test_anything_else_beside_it_does_not(critique):
    assert not passes(critique, ENGLISH)


@pytest.mark.parametrize(
    "critique",
    [
        "已达最佳", "已达最佳。", '"已达最佳"', "「已达最佳」", "已经已达最佳", "答案已达最佳了",
        "**已达最佳**", "『已达最佳！』", "我认为这个答案已达最佳。", "答案 已达最佳", "结论：已达最佳",
        "**结论：**答案已达最佳了。",
        "绝对已达最佳",
        "答案\n已达最佳", "日期已改正。\n\n已达最佳", "第一处没有问题。\n已达最佳", "已达最佳\n无需修改。",
        "最终结论: 已达最佳",
    ],
)  # fmt: skip
def test_a_signal_beside_cjk_characters_passes(critique):
    assert passes(critique, CHINESE)


@pytest.mark.parametrize(
    "critique",
    [
        "未已达最佳", "尚未已达最佳", "没有已达最佳", "还没已达最佳", "不是已达最佳", "并非已达最佳", "已达最佳吗",
        "已达最佳？",
        "是否已达最佳", "如果补上日期就已达最佳", "几乎已达最佳", "离已达最佳还差一步", "已达最佳，但日期要改",
        "已达最佳，无需修改",
        "未达到：已达最佳", "还没有\n已达最佳", "已达最佳\n但日期要改。", "已达最佳\n不过，日期有误。", "已达最",
        "答案the已达最佳",
        "这是一个很长很长的句子它说答案已达最佳", "日期有误。",
    ],
)  # fmt: skip
def test_cjk_characters_that_deny_it_do_not(critique):
    assert not passes(critique, CHINESE)


@pytest.mark.parametrize(
    ("signal", "passing", "failing"),
    [
        ("GOOD ENOUGH", "答案GOOD ENOUGH了", "不GOOD ENOUGH"),
        ("通过", "本稿通过", "要通过"),
        ("合格", "この回答は合格です", "この回答は合格ではない"),
        ("合格", "合格です。", "合格ですか"),
        ("충분함", "답변이 충분함", "답변이 불충분함"),
        ("합격", "답변 합격", "답변 안 합격"),
        ("GUT GENUG", "Urteil: gut genug.", "Das ist noch nicht\nGUT GENUG"),
        ("ASSEZ BON", "« Assez bon »", "ce n'est pas assez bon"),
        ("ДОСТАТОЧНО", "Достаточно!", "не достаточно"),
        ("كاف", "كاف۔", "ليس كاف"),
        ("काफी अच्छा", "निष्कर्ष: काफी  अच्छा।", "नहीं काफी अच्छा"),
        ("STRASSE", "straße", "strasze"),
        ("A", "Grade: A.", "A-"),
        ("A", "A", "A+"),
        ("STATUS: OK", "status: ok", "OK"),
        ("C#", "C#", "C"),
        ("✅", "Verdict: ✅", "❌"),
    ],
)
def test_any_language(signal, passing, failing):
    assert passes(passing, [signal])
    assert not passes(failing, [signal])


@pytest.mark.parametrize(
    "critique",
    [
        "Verdict: GOOD ENOUGH", "**Verdict:** GOOD ENOUGH", "**Verdict**: `good enough`.",
        "## Final verdict: GOOD ENOUGH",
        "Verdict:\nGOOD ENOUGH", '{"verdict": "GOOD ENOUGH"}', "结论：GOOD ENOUGH", "my_own verdict : GOOD ENOUGH",
        "Round 2: GOOD ENOUGH", "What I say of it in the end: GOOD ENOUGH",
    ],
)  # fmt: skip
def test_a_label_may_stand_in_front(critique):
    assert passes(critique, ENGLISH)
    assert passes(f"The date was wrong.\nNow it is right\n{critique}", ENGLISH)


@pytest.mark.parametrize(
    "critique",
    [
        "Not: GOOD ENOUGH", "Not yet: GOOD ENOUGH", "If you add the date: GOOD ENOUGH", "It isn't: GOOD ENOUGH",
        "It isn’t: GOOD ENOUGH", "What the answer has to become: GOOD ENOUGH", "Well, then: GOOD ENOUGH",
        ": GOOD ENOUGH",
        "Verdict: NOT GOOD ENOUGH", "Verdict: GOOD ENOUGH?", "Verdict: GOOD ENOUGH, but fix it",
        "Verdict: it: GOOD ENOUGH",
        "Internationalisationally speaking: GOOD ENOUGH", '{"pass": false, "verdict": "GOOD ENOUGH"}',
        "GOOD ENOUGH: NOT",
    ],
)  # fmt: skip
def test_not_everything_with_a_colon_is_a_label(critique):
    assert not passes(critique, ENGLISH)


@pytest.mark.parametrize(
    "above",
    [
        "The date is right.\nThe source is named.", "- The date is not given\n- No source", "1. Is the date right?",
        "Is anything missing?",
        "It was not GOOD ENOUGH before; now it is.", "Nothing is wrong!", "This is not yet the best\n", "All is there",
        "```\nx = 1\n```", "The date (it was not given) is there.”", "NOT GOOD ENOUGH.", "My verdict:\n",
    ],
)  # fmt: skip
def test_a_last_line_that_is_the_verdict_passes(above):
    assert passes(f"{above}\nGOOD ENOUGH", ENGLISH)


@pytest.mark.parametrize(
    "above",
    [
        "This is not yet\n", "I wouldn't call this\n", "It is far from\n", "If it had a date it would be\n", "Is it\n",
        "- The date is not\n  ", "What is not there:\n", "Not yet:\n\n", "Once the date is there I will say:\n\n",
        "- Only then is it not:\n",
    ],
)  # fmt: skip
def test_but_not_where_a_doubt_leads_to_it(above):
    assert not passes(f"{above}GOOD ENOUGH", ENGLISH)


def test_a_mention_in_the_middle_does_not_pass():
    assert not passes("The beginning is\nGOOD ENOUGH\nThe end is too long.", ENGLISH)
    assert not passes("The beginning is GOOD ENOUGH.\nThe end is too long.", ENGLISH)


@pytest.mark.parametrize(
    "below",
    [
        "The date is right and the source is named.", "\nNo changes needed. Nothing is missing.",
        "Reason: it names all.", "***",
    ],
)  # fmt: skip
def test_a_first_line_that_is_the_verdict_passes(below):
    assert passes(f"GOOD ENOUGH\n{below}", ENGLISH)
    assert passes(f"**Verdict:** GOOD ENOUGH.\n{below}", ENGLISH)


@pytest.mark.parametrize(
    "below",
    [
        "It names all.\nVerdict: GOOD ENOUGH\nThe date is old.",
        "but fix the date", "\nHowever, the date is wrong.", "if you add the date", "It does not name the source.",
        "It doesn't name the source.", "\nThat is what I would say of a GOOD ENOUGH answer.",
        "Verdict: NOT GOOD ENOUGH",
        "You must add the date.", "This is fine.\nWait: the date is wrong.",
    ],
)  # fmt: skip
def test_unless_what_is_below_takes_it_back(below):
    assert not passes(f"GOOD ENOUGH\n{below}", ENGLISH)


# Of each word of `doubt.py` there is a text, here or above, that passes without it.

BELOW = """
It does not name the source. | I cannot find the source. | All of it, but the date. | However, the date is old.
Although all is there, the date is old. | A fine text, though old. | All is there except the date.
Unless it has a date, nobody can use it. | Leave it so until the date is known.
It is complete if you add the date. | Once it has a date, print it. | It must name the source.
It should name the source. | It has yet to name the source. | Wait, the date is old.
It doesn't name the source. | Das Datum ist nicht genannt. | Aber das Datum fehlt. | Jedoch fehlt das Datum.
Schön, wenn es ein Datum hat. | Elle n’a pas de date. | Mais la date manque. | Tout est juste, sauf la date.
Pero falta la fecha. | Todo, salvo la fecha. | Mas falta a data. | Não há data. | Ma manca la data.
Даты не видно. | Но дата старая. | Если указать дату. | 但日期有误。 | 不过日期有误。 | 然而日期有误。
可是日期有误。 | 只是日期有误。 | 除非补上日期。 | 如果补上日期。 | 若补上日期。 | 假如补上日期。 | 否则看不懂。
尚缺日期。 | 仍缺日期。 | 日期未写。 | 日期不是最新的。 | 日期并非最新。 | 日期并不准确。 | 来源还没写。
日期还不准确。 | 还有一处要改。 | 还需补上日期。 | 还要补上日期。 | 应该补上日期。 | 必须补上日期。
不過日期有誤。 | 否則看不懂。 | 日期並非最新。 | 日期並不準確。 | 來源還沒寫。 | 日期還不準確。
還有一處要改。 | 還需補上日期。 | 還要補上日期。 | 應該補上日期。 | 必須補上日期。
しかし日付が古い。 | ただし日付が古い。 | 日付はまだだ。 | もし日付があれば。 | 날짜가 맞지 않다.
최신이 아니다. | 날짜가 아직 없다. | 하지만 날짜가 틀렸다.
"""
ABOVE = """
It is no | Non, c'est | It was never | It is neither | Nor was it | It is hardly | It is barely | It is almost
It is nearly | Without a date it is | It is far from | It lacks a date to count as
A date is missing to make it | I say false to | It fails as | It is wrong to call it | I will say so when it is
It would pass as | It could pass as | It might pass as | It may pass as | It has to be | With a date it becomes
Is it | Das ist kein | Das ist noch lang | Das war nie | C'est sans date | Sin fecha es | Sem data é | Nunca es
Нет, это | Без даты это
"""
AROUND = """
不算_ 没有_ 沒有_ 无法说_ 無法說_ 非_ 别说_ 別說_ 能否_ 勿称_ 莫说_ 难说_ 難說_ 拒称_ 错称_ 錯稱_ 误以为_
誤以為_ _吗 _嗎 怎么_ 怎麼_ _呢 谁说_ 誰說_ 哪里_ 如今后_ 倘改好_ 假设_ 除日期外_ 改好才_ 改好就_ 改好则_
改好則_ 改好即_ 只有来源_ 有待_ 等改好_ 须_ 須_ 需_ 必_ 要_ 将_ 將_ 会_ 會_ 应_ 應_ 可算_ 能算_ 曾_ 暂算_ 暫算_
有望_ 力求_ 几乎_ 幾乎_ 接近_ 差点_ 缺日期_ 少日期_ 欠日期_ 距_ 离_ 離_ 似乎_ 还算_ 還算_ _而已 却_ 卻_ 虽_ 雖_
_ではない _なし _ではありません _なら _だったら _であれば _だけど ほぼ_ _ですか 못_ _아닌것 _이아닙니다 _없음
미_ 불_ 고치면_ _일까 _이지만 거의_
"""


@pytest.mark.parametrize("below", BELOW.strip().replace("\n", " | ").split(" | "))
def test_each_word_that_takes_a_verdict_back(below):
    assert not passes(f"GOOD ENOUGH\n{below}", ENGLISH)


@pytest.mark.parametrize("above", ABOVE.strip().replace("\n", " | ").split(" | "))
def test_each_word_of_doubt_that_leads_to_it(above):
    assert not passes(f"{above}\nGOOD ENOUGH", ENGLISH)


@pytest.mark.parametrize("text", AROUND.split())
def test_each_doubt_around_it(text):
    assert not passes(text.replace("_", "已达最佳"), CHINESE)


def test_a_short_signal_is_not_looked_for_in_other_words():
    assert passes("OK\nIt looks right, and is spoken well.", ["OK"])
    assert not passes("OK\nThe date is ok, the source is to come.", ["OK"])


def test_any_of_several_signals_passes():
    assert passes("已达最佳", ("GOOD ENOUGH", "已达最佳"))
    assert passes("good enough", ("已达最佳", "GOOD ENOUGH"))


@pytest.mark.parametrize("signals", [(), [""], ["GOOD ENOUGH", " "], ["**"], ["."], "GOOD ENOUGH"])
def test_signals_that_say_nothing_are_an_error(signals):
    with pytest.raises(ConfigError, match="signals: expected a list of texts, such as"):
        passes("GOOD ENOUGH", signals)


def test_how_much_may_stand_around_it():
    assert passes("好" * MAX_AROUND + "已达最佳", CHINESE)
    assert not passes("好" * (MAX_AROUND + 1) + "已达最佳", CHINESE)


@given(st.text(), st.text())
def test_any_text_is_judged(critique, signal):
    try:
        found = passes(critique, [signal])
    except ConfigError:
        return
    assert found in (True, False)
    assert passes(signal, [signal])


@given(st.text(string.ascii_letters, min_size=1))
def test_no_word_beside_it_passes(word):
    for text in ("{} GOOD ENOUGH", "{}GOOD ENOUGH", "GOOD ENOUGH {}", "GOOD ENOUGH{}", "GOOD {} ENOUGH"):
        assert not passes(text.format(word), ENGLISH)


UNIT = [
    "GOOD ENOUGH ", "GOOD ENOUGH\n", "- ", "-", "*", "`", " ", "\n", ". ", ": ", "a: ", "不", "已达最佳", "[ ", "「",
    "n'", "<think>",
    "not\n", "GOOD ", "fail", "\u200b", "1. ", ".\n",
]  # fmt: skip


@pytest.mark.parametrize("unit", UNIT)
def test_hostile_critiques_are_quick(unit):
    """The lines of Python that run grow with the critique and not with its square; so do the steps of the patterns."""
    for before, behind in (("", ""), ("x", "x"), ("GOOD ENOUGH\n", "x"), ("x\n", "\nGOOD ENOUGH")):
        small, large = (f"{before}{unit * times}{behind}" for times in (200, 800))
        assert lines_run(large) < 6 * lines_run(small) + 1000
        passes(f"{before}{unit * (300_000 // len(unit))}{behind}", ("GOOD ENOUGH", "已达最佳"))


def lines_run(critique):
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        passes(critique, ENGLISH)
    finally:
        sys.settrace(before)
    return count
