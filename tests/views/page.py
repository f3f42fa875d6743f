"""A reader of our HTML that refuses what is not ours."""

import re
from html.parser import HTMLParser

from nbagent.views.style import ROOT, STYLE

CHROME = {"div", "style", "b", "i", "code", "span", "details", "summary", "small", "pre", "mark", "sup", "p"}
CHROME |= {"svg", "title", "path", "text", "ins", "del", "table", "caption", "thead", "tbody", "tr", "th", "td"}
ANSWER = {"p", "br", "h4", "h5", "h6", "strong", "em", "s", "small", "code", "pre", "ul", "ol", "li", "blockquote"}
ANSWER |= {"hr", "table", "thead", "tbody", "tr", "th", "td", "a"}
CLASSES = {*ROOT.split(), *re.findall(r"\.(nbagent-[a-z]+)", STYLE)}


NUMBERS = {
    ("details", "name"): "nbagent-[0-9a-f]{12}",
    ("th", "scope"): "col|row",
    ("td", "colspan"): r"\d+",
    ("div", "role"): "region",
    ("div", "aria-label"): "nbagent",
    ("b", "role"): "heading",
    ("b", "aria-level"): "3",
    ("svg", "role"): "img",
    ("svg", "aria-label"): r"[\w ,.:]+",
    ("svg", "preserveaspectratio"): "none",
    ("svg", "viewbox"): r"0 0 \d+ \d+",
    ("svg", "width"): r"\d+",
    ("svg", "height"): r"\d+",
    ("svg", "stroke-width"): r"\d+",
    ("path", "d"): r"(M\d+ \d+([hv]-?\d+|l-?\d+ \d+|z)+)+",
    ("text", "x"): r"\d+",
    ("text", "y"): r"\d+",
}
"""The attributes whose values are words and numbers of our own, and how those look."""


class Page(HTMLParser):
    """Checks that each element is one of ours, and keeps the text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.said, self.answer_at = [], [], None
        self.feed(text)
        self.close()
        assert self.open == []

    @property
    def text(self):
        return "".join(self.said)

    def handle_starttag(self, tag, attrs):
        in_answer = self.answer_at is not None
        assert tag in (ANSWER if in_answer else CHROME), tag
        for name, value in attrs:
            self.check(tag, name, value, in_answer)
        if tag not in {"br", "hr"}:
            self.open.append(tag)
        if ("class", "nbagent-answer") in attrs:
            self.answer_at = len(self.open)

    def check(self, tag, name, value, in_answer):
        if in_answer:
            assert (tag, name) in {("a", "href"), ("a", "rel"), ("ol", "start")}, (tag, name)
            if name == "href":
                assert re.match(r"https://[^@/]+(/|$|[?#])", value), value
        elif name == "open":
            assert (tag, value) == ("details", None)
        elif (tag, name) in NUMBERS:
            assert re.fullmatch(NUMBERS[tag, name], value), value
        else:
            assert name == "class", (tag, name)
            assert set(value.split()) <= CLASSES, value

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if self.answer_at is not None and len(self.open) < self.answer_at:
            self.answer_at = None

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.said.append(data)

    def refuse(self, data):
        raise AssertionError(data)

    handle_comment = handle_decl = handle_pi = unknown_decl = refuse
