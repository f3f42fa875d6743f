import re
import time
from unicodedata import category

import pytest
from hostile import TEXTS
from hypothesis import given
from hypothesis import strategies as st

from nbagent.views.safe import MARKDOWN_LIMIT, escape, exact, inline, markdown, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, naïve, 日本語, \ttab\nline", "plain, naïve, 日本語, \ttab\nline"),
        ("a\r\nb\rc", "a\nb⟦U+000D⟧c"),
        ("\x1b[31mred", "⟦U+001B⟧[31mred"),
        ("alice\u202eecila", "alice⟦U+202E⟧ecila"),
        ("a\u200bb\ufeff\u2060\u00ad", "a⟦U+200B⟧b⟦U+FEFF⟧⟦U+2060⟧⟦U+00AD⟧"),
        ("\x00\x00\x00!", "⟦U+0000 ×3⟧!"),
        ("\ud800x", "⟦U+D800⟧x"),
        ("\ue000\U0010ffff\u0378", "⟦U+E000⟧⟦U+10FFFF⟧⟦U+0378⟧"),
        ("\x85\u2028\u2029", "⟦U+0085⟧⟦U+2028⟧⟦U+2029⟧"),
        ("ok\U000e0068\U000e0069\U000e007f", "ok⟦3 tag characters: hi·⟧"),
        ("a\u00a0b\u3000c", "a\u00a0b\u3000c"),
        ("\u3164\u034f\u115f", "⟦U+3164⟧⟦U+034F⟧⟦U+115F⟧"),
        ("a\ufe0f x\U000e0100", "a⟦U+FE0F⟧ x⟦U+E0100⟧"),
        ("a\u200db", "a⟦U+200D⟧b"),
        ("é\u200d\u200dé", "é⟦U+200D ×2⟧é"),
    ],
)
def test_visible(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize("text", ["👩‍👩‍👧‍👦", "❤️ ❤️‍🔥", "می‌خواهم", "क्‍ष", "1️⃣ #️⃣", "👍🏽", "🏳️‍🌈", "ℹ️ ™️ ‼️", "🙂‍↔️"])
def test_joiners_and_selectors_that_belong_stay(text):
    assert visible(text) == text


@given(st.text(alphabet=st.characters()))
def test_visible_text_is_seen_and_stays_as_it_is(text):
    shown = visible(text)
    assert visible(shown) == shown
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)
    assert not re.search(r"[\n\t]", inline(text))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, naïve, 日本語, \ttab\nline", "plain, naïve, 日本語, \ttab\nline"),
        ("a\r\nb", "a⟦U+000D⟧\nb"),
        ("می\u200cخواهم ❤\ufe0f", "می⟦U+200C⟧خواهم ❤⟦U+FE0F⟧"),
        ("a\u00a0b\u3000c\u2800d", "a⟦U+00A0⟧b⟦U+3000⟧c⟦U+2800⟧d"),
        ("\u0600\u3164\ue000\u0378\u2028\ud800", "⟦U+0600⟧⟦U+3164⟧⟦U+E000⟧⟦U+0378⟧⟦U+2028⟧⟦U+D800⟧"),
        ("ok\U000e0068\U000e0069", "ok⟦2 tag characters: hi⟧"),
    ],
)
def test_exact(text, shown):
    assert exact(text) == shown


@given(st.text(alphabet=st.characters()))
def test_in_exact_text_every_character_is_seen(text):
    shown = exact(text)
    assert exact(shown) == visible(shown) == shown
    assert {char for char in shown if category(char)[0] in "CZ"} <= set("\n\t ")


@given(st.text())
def test_escaped_text_has_no_markup(text):
    assert not re.search(r"[<>\"']|&(?!amp;|lt;|gt;|#34;|#39;)", escape(text))


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("# a\n## b\n#### c", "<h4>a</h4>\n<h5>b</h5>\n<h6>c</h6>"),
        ("[a](https://x.test/b)", '<p><a href="https://x.test/b" rel="noopener noreferrer">a</a></p>'),
        ("[a](https://x.test 't')", '<p><a href="https://x.test" rel="noopener noreferrer">a</a> (t)</p>'),
        ("[a](http://x.test/b)", "<p>a (http://x.test/b)</p>"),
        ("[a](/api/kernels)", "<p>a (/api/kernels)</p>"),
        ("[a](//x.test)", "<p>a (//x.test)</p>"),
        ("[a](https://user:pw@x.test)", "<p>[a](https://user:‹redacted password›@x.test)</p>"),
        ("[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>"),
        ("[a](javascript&colon;alert(1))", "<p>[a](javascript:alert(1))</p>"),
        ("![p](https://x.test/p?d=S)", "<p>p (https://x.test/p?d=S)</p>"),
        ("![p *q*](x.png 'told')", "<p>p *q* (x.png told)</p>"),
        ("https://x.test www.x.test", "<p>https://x.test www.x.test</p>"),
        ("<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>"),
        ("a &#x202e; b", "<p>a ⟦U+202E⟧ b</p>"),
        ("$5 and $6", "<p>$5 and $6</p>"),
        ("[x]: https://x.test 'hidden'", "<p>[x]: https://x.test 'hidden'</p>"),
        ("```py\na < b\n```", "<p><small>py</small></p><pre><code>a &lt; b\n</code></pre>"),
        ("3. c", '<ol start="3">\n<li>c</li>\n</ol>'),
    ],
)
def test_markdown(source, shown):
    assert markdown(source) == shown


FORMULA = '<div class="tex2jax_process mathjax_process">{}</div>'


@pytest.mark.parametrize(
    "formula",
    [
        r"$$\frac{a}{b_1} * c_1 * d$$",
        "$$\n\\begin{aligned}a &amp; b\\\\ c\\end{aligned}\n$$".replace("&amp;", "&"),
        "$$x$$",
    ],
)
def test_a_formula_is_typeset_where_that_is_wanted(formula):
    assert FORMULA.format(escape(formula)) in markdown(f"a\n\n{formula}\n\nb", math=True)
    assert "mathjax" not in markdown(formula)


@pytest.mark.parametrize(
    "text",
    ["costs $5 and $6", r"\(x\)", "so $$x$$ is", "`$$x$$`", "```\n$$x$$\n```", "$$x$$ $$y$$", "$$" + "x" * 3_000 + "$$"]
    + [rf"$$\{name}{{x}}{{y}}$$" for name in ("href", "unicode", "require", "class", "style", "cssId", "data", "def")]
    + [
        rf"$$\{name}{{x}}{{y}}$$"
        for name in ("newcommand", "let", "url", "includegraphics", "rule", "kern", "label", "ref")
    ]
    + [r"$$\begin{equation}x\end{equation}$$", r"$$\begin x$$", "$$\\h\u200bref{x}{y}$$"],
)
def test_what_is_no_plain_formula_stays_text(text):
    assert "mathjax" not in markdown(text, math=True)


def test_markdown_that_is_long_or_deep_is_shown_as_text():
    long = "*a* " * (MARKDOWN_LIMIT // 4 + 1)
    assert markdown(long) == f"<pre>{long}</pre>"
    deep = ">" * 50 + " hidden below"
    assert markdown(deep) == f"<pre>{escape(deep)}</pre>"
    lists = "\n".join("  " * depth + "- item" for depth in range(20))
    assert markdown(lists).count("item") == 20


@pytest.mark.parametrize("piece", ["[", "[a](", ">", "<div>", "![[](", "*_", "`", "- ", "&#x202e;", "|a\n|-\n"])
@pytest.mark.parametrize("length", [MARKDOWN_LIMIT, 250_000])
def test_markdown_takes_little_time(piece, length):
    began = time.process_time()
    markdown(piece * (length // len(piece)))
    assert time.process_time() - began < 2


@given(st.lists(st.sampled_from([*TEXTS, "[", "](", "https://x.test", "`", "\n", "> ", "* "]), max_size=6).map("".join))
def test_markdown_has_only_harmless_elements(source):
    shown = markdown(source)
    assert not re.search(
        r"<(?!/?(p|br|h[456]|strong|em|s|small|code|pre|ul|ol|li|blockquote|hr|table|thead|tbody|t[rhd]|a)\b)", shown
    )
    attributes = re.findall(r"<\w+ ([^>]*)>", shown)
    assert all(
        re.fullmatch(r'start="\d+"|href="https://[^"@]*" rel="noopener noreferrer"', each) for each in attributes
    )
