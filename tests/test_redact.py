"""No secret is ever shown, and what is none stays as it is. All secrets here are made up at run time."""

from __future__ import annotations

import base64
import copy
import json
import os
import pickle
import random
import re
import string
import subprocess
import sys
import threading
import time
import uuid
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbagent import redact as module
from nbagent.redact import StreamRedactor, forget, know, know_environment, known, redact, redact_together
from nbagent.redact.hidden import Hidden
from nbagent.redact.kinds import KINDS
from nbagent.redact.search import Search

LETTERS = string.ascii_letters + string.digits
DASHED = LETTERS + "-_"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


@pytest.fixture(autouse=True)
def nothing_known():
    forget()
    yield
    forget()


def made_up(length, characters=LETTERS, seed=1):
    """Random, with a letter next to a digit as in all keys but one in a thousand."""
    return "a1" + "".join(random.Random(seed).choices(characters, k=length - 2))


def private_key(kind="RSA ", newline="\n", lines=12):
    body = newline.join(made_up(64, LETTERS + "+/", line) for line in range(lines))
    return f"-----BEGIN {kind}PRIVATE" + f" KEY-----{newline}{body}{newline}-----END {kind}PRIVATE" + " KEY-----"


def jwt():
    return ".".join(["eyJ" + made_up(33), "eyJ" + made_up(120, DASHED), made_up(43, DASHED)])


CANARIES = {
    "OpenAI": "sk-" + made_up(48),
    "OpenAI project": "sk-" + "proj-" + made_up(156, DASHED),
    "OpenAI service account": "sk-" + "svcacct-" + made_up(80, DASHED),
    "Anthropic": "sk-" + "ant-api03-" + made_up(93, DASHED) + "AA",
    "Google": "AI" + "za" + made_up(35, DASHED),
    "Hugging Face": "hf" + "_" + made_up(34),
    **{f"GitHub {kind}": f"gh{kind}" + "_" + made_up(36) for kind in "pousr"},
    "GitHub fine-grained": "github" + "_pat_" + made_up(22) + "_" + made_up(59),
    **{f"Slack {kind}": f"xox{kind}" + "-123456789012-1234567890123-" + made_up(24) for kind in "abprs"},
    "AWS": "AK" + "IA" + "IOSFODNNABEXAMPL",
    "AWS for a while": "AS" + "IA" + "IOSFODNN7EXAMPLE",
    "Groq": "gs" + "k_" + made_up(52),
    "Stripe": "sk" + "_live_" + made_up(24),
    "Stripe restricted": "rk" + "_live_" + made_up(24),
    "JWT": jwt(),
    "JWT with an encrypted part": "eyJ" + made_up(500, DASHED) + "." + made_up(900, DASHED) + "." + made_up(43, DASHED),
    "private key": private_key(),
    "private key in JSON": private_key("", "\\n"),
    "private key of OpenSSH": private_key("OPENSSH "),
    "private key with headers": private_key("EC ", "\nProc-Type: 4,ENCRYPTED\n" + "DEK-Info: 0,x\n" * 11 + "\n", 2),
    "bearer": "Bearer " + made_up(40, DASHED + "./+="),
}
"""Each masked wherever it is, as a whole."""

PASSWORD = made_up(12, LETTERS + "!$&*:", 7)
VALUE = made_up(24, DASHED, 8)
AROUND = {
    f"Authorization: Bearer {VALUE}": "Authorization: Bearer ‹redacted token›",
    f"authorization: basic {VALUE}==": "authorization: basic ‹redacted token›",
    f"-H 'Authorization: Token {VALUE}'": "-H 'Authorization: Token ‹redacted token›'",
    f"{{'Authorization': 'Bearer {VALUE}'}}": "{'Authorization': 'Bearer ‹redacted token›'}",
    json.dumps(json.dumps({"authorization": f"Bearer {VALUE}"})): r'"{\"authorization\": \"Bearer ‹redacted token›\"}"',
    f"(b'authorization', b'Bearer {VALUE}')": "(b'authorization', b'Bearer ‹redacted token›')",
    rf"(b\'authorization\', b\'Basic {VALUE}\')": r"(b\'authorization\', b\'Basic ‹redacted token›\')",
    f"x-api-key: {VALUE}\r\nhost: a": "x-api-key: ‹redacted key›\r\nhost: a",
    f"api-key: {VALUE}": "api-key: ‹redacted key›",
    f"X-Goog-Api-Key={VALUE}": "X-Goog-Api-Key=‹redacted key›",
    f'{{"x-api-key": "{VALUE}", "a": 1}}': '{"x-api-key": "‹redacted key›", "a": 1}',
    f"[(b'x-api-key', b'{VALUE}')]": "[(b'x-api-key', b'‹redacted key›')]",
    f"https://ada:{PASSWORD}@example.com/a": "https://ada:‹redacted password›@example.com/a",
    f"postgresql://ada:{PASSWORD}@db:5432/x": "postgresql://ada:‹redacted password›@db:5432/x",
    f"redis://:{PASSWORD}@cache": "redis://:‹redacted password›@cache",
    f"https://ada:p@{PASSWORD}@example.com": "https://ada:‹redacted password›@example.com",
    f"https://ada:{made_up(256)}@example.com": "https://ada:‹redacted password›@example.com",
}
"""Only a part is the secret."""


# Patterns.


@pytest.mark.parametrize("kind", CANARIES)
@pytest.mark.parametrize(
    "around", ["{}", "use {} now", '"{}"', "KEY={}\n", "({})", r"a\n{}\n", "%20{}", "\x1b[31m{}\x1b[0m"]
)
def test_each_kind_of_secret_is_masked_wherever_it_is(kind, around):
    masked = redact(around.replace("{}", CANARIES[kind]))
    before, after = around.split("{}")
    assert masked.startswith(before + "Bearer " * (kind == "bearer") + "‹redacted ")
    if around != r"a\n{}\n" or "private key" not in kind:
        assert masked.endswith("›" + after)
    assert masked.count("‹redacted ") == 1


@pytest.mark.parametrize(("text", "masked"), AROUND.items())
def test_of_a_header_and_of_a_url_only_the_secret_is_masked(text, masked):
    assert redact(text) == masked


def test_the_mark_says_which_kind_it_is():
    said = {kind: redact(secret).removeprefix("Bearer ") for kind, secret in CANARIES.items()}
    assert said["OpenAI"] == said["Google"] == said["AWS"] == said["Stripe"] == "‹redacted key›"
    assert said["JWT"] == said["Hugging Face"] == said["GitHub p"] == said["bearer"] == "‹redacted token›"
    assert said["private key"] == said["private key of OpenSSH"] == "‹redacted private key›"


@pytest.mark.parametrize(
    "text",
    [
        "sk-learn",
        "sk-ip-this",
        "scikit",
        "ask-anything",
        "task-1234567890",
        "task-1234567890-abcdefghijklmnop-a1b2c3",
        "risk-based-assessment-of-things",
        "disk-0a1b2c3d4e5f6a7b8c9d0e1f",
        "sk-telecom-announces-results-of-2024",
        "sk-" + "a" * 500 + "1",
        "hf_model_name_with_many_parts_2_large",
        "AKIA is a station, ASIAPACIFICECONOMICCOOPERATION a body",
        "eyJhbGciOiJIUzI1NiJ9 and no more",
        "monkeyJumps4711.eyJumps4711",
        "https://example.com:8080/a@b and https://example.com/?q=a:b@c",
        "git@github.com:ada/notebooks.git",
        "the authorization: required, the api-key: none, Bearer of bad news",
        "curl -H 'Authorization: Bearer $TOKEN' -H \"x-api-key: ${KEY}\"",
        "f'Bearer {token}'",
        "a block begins with -----BEGIN PRIVATE " + "KEY----- and ends with -----END PRIVATE " + "KEY-----",
        "-----BEGIN CERTIFICATE-----\n" + made_up(64) + "\n-----END CERTIFICATE-----",
        "‹redacted key› and ‹redacted OPENAI_API_KEY›",
    ],
)
def test_what_is_no_secret_is_the_very_same_object(text):
    assert redact(text) is text
    assert streamed(list(text)) == text


def harmless(seed):
    rng = random.Random(seed)
    text = "".join(rng.choices(string.ascii_lowercase, k=rng.randint(3, 30)))
    return rng.choice(
        [
            rng.randbytes(32).hex(),
            rng.randbytes(20).hex(),
            str(uuid.UUID(bytes=rng.randbytes(16), version=4)),
            base64.b64encode(PNG + rng.randbytes(rng.randint(20, 400))).decode(),
            "data:image/png;base64," + base64.b64encode(PNG + rng.randbytes(90)).decode(),
            f"sk-learn-{text}",
            f"task-{rng.randint(0, 10**12)}",
            f"{rng.choice(['risk', 'disk', 'desk', 'ask'])}-{text}-{rng.randint(0, 10**9)}-{text}",
            f"{text}-{rng.randbytes(12).hex()}",
            f"https://example.com/{text}/{rng.randbytes(16).hex()}?id={rng.randint(0, 10**9)}",
            f"/usr/lib/{text}/{text}-{rng.randint(0, 99)}.py:{rng.randint(0, 999)}",
            f"claude-{text}-4-{rng.randint(20200101, 20301231)}",
            f"<{text.title()} object at 0x{rng.randbytes(6).hex()}>",
            "".join(rng.choices(string.ascii_letters, k=80)),
        ]
    )


def test_of_a_thousand_harmless_texts_at_most_two_are_masked():
    texts = [harmless(seed) for seed in range(1000)]
    assert len(set(texts)) > 990
    assert [text for text in texts if redact(text) is not text][2:] == []


# Values somebody told us.

AWKWARD = {
    "plain": made_up(20, LETTERS, 3),
    "signs": "p@$$ w0rd/+%=.*[a-z]{2}(?:x)\\d",
    "quotes": "it's \"quoted\" & 'so'",
    "unicode": "größe→日本語🔑 sécret",
    "lines": "first line\nsecond\tline\\n",
    "backslashes": "\\\\server\\share\\",
    "as in a URL": "https://a:b@c/?d=e&f",
    "repeated": "abababababab",
    "a lone surrogate": "abc\udcffdefgh",
}


def encodings(value):
    raw = value.encode("utf-8", "surrogatepass")
    yield value
    for quoted in (quote(raw), quote(raw, safe=""), quote_plus(raw)):
        yield quoted
        yield re.sub("%..", lambda escape: escape[0].lower(), quoted)
    yield from (json.dumps(value), json.dumps(value, ensure_ascii=False), json.dumps(json.dumps(value)))
    yield from (repr(value), ascii(value), repr(raw), repr([value + "'\""]))
    yield from (raw.hex(), raw.hex().upper())
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(raw).decode()
        yield encode(raw).decode().rstrip("=")


@pytest.mark.parametrize("kind", AWKWARD)
def test_a_known_value_is_masked_in_every_form_it_may_have(kind):
    value = AWKWARD[kind]
    know(value, "MY_KEY")
    for form in encodings(value):
        masked = redact(f"before {form} after")
        assert "‹redacted MY_KEY›" in masked
        left = masked.removeprefix("before ").removesuffix(" after").replace("‹redacted MY_KEY›", "")
        assert left.strip("'\"b[]\\") == ""


@pytest.mark.parametrize("before", range(6))
@pytest.mark.parametrize("after", range(3))
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_known_value_inside_longer_base64_is_masked_at_every_alignment(before, after, encode):
    value = "p@ss??>>~~\u00ff" + made_up(20)
    know(value, "MY_KEY")
    whole = encode(b"\xff" * before + value.encode() + b"\xff" * after).decode()
    first, last = redact(whole).split("‹redacted MY_KEY›")
    assert len(first) <= (8 * before + 5) // 6
    assert len(last.rstrip("=")) <= 4


@pytest.mark.parametrize("kind", CANARIES)
def test_every_kind_of_secret_is_masked_in_every_form_once_it_is_known(kind):
    know(CANARIES[kind], "CANARY")
    for form in encodings(CANARIES[kind]):
        assert redact(form).strip("'\"b[]\\") == "‹redacted CANARY›"


def test_the_label_of_a_known_value_is_shown_where_a_pattern_begins_too():
    know(CANARIES["OpenAI"], "OPENAI_API_KEY")
    assert redact(f"Authorization: Bearer {CANARIES['OpenAI']}") == "Authorization: Bearer ‹redacted OPENAI_API_KEY›"


def test_overlapping_secrets_are_one_mark_and_nothing_of_them_is_left():
    know("abcdefghij", "A")
    know("ghijklmnop", "B")
    know("mnopqrstuv", "C")
    assert redact("<abcdefghijklmnopqrstuv>") == "<‹redacted A›>"
    assert redact("<abcdefghijklmnop>") == "<‹redacted A›>"
    assert redact("<abcdefghij ghijklmnop>") == "<‹redacted A› ‹redacted B›>"
    assert redact("<abcdefghijmnopqrstuv>") == "<‹redacted A›‹redacted C›>"


def test_of_a_secret_that_begins_like_another_the_longer_one_is_named():
    know("abcdefgh", "SHORT")
    know("abcdefghijkl", "LONG")
    assert redact("abcdefgh abcdefghij abcdefghijkl") == "‹redacted SHORT› ‹redacted SHORT›ij ‹redacted LONG›"


def test_a_secret_that_overlaps_itself_is_masked_to_its_end():
    know("abababab", "A")
    assert redact("xabababababx") == "x‹redacted A›x"


def test_blanks_around_a_value_do_not_count():
    know(" secret-value\n", "A")
    assert redact("it is secret-value.") == "it is ‹redacted A›."


@pytest.mark.parametrize("value", ["", "1234567", "  short  ", "password", "redacted"])
def test_what_is_too_short_or_a_word_of_the_marks_is_not_known(value):
    know(value, "A")
    text = f"It is {value} and a longer text. ‹redacted password›"
    assert redact(text) is text


def test_the_first_label_stays():
    know("abcdefgh", "FIRST")
    know("abcdefgh", "SECOND")
    assert redact("abcdefgh") == "‹redacted FIRST›"


@pytest.mark.parametrize("label", ["abcdefgh", "the abcdefgh", "a ‹b› c", "", "\n", CANARIES["OpenAI"]])
def test_a_label_is_one_line_and_shows_no_secret(label):
    know("abcdefgh", label)
    masked = redact("abcdefgh")
    assert masked in {"‹redacted secret›", "‹redacted a _b_ c›"}
    assert redact(masked) is masked


def test_forget_drops_all_known_values():
    know("abcdefgh", "A")
    forget()
    assert redact("abcdefgh") == "abcdefgh"


def test_values_told_by_many_threads_are_all_known():
    def tell(number):
        for count in range(8):
            know(f"secret-of-{number}-{count}", "A")

    threads = [threading.Thread(target=tell, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {redact(f"secret-of-{number}-{count}") for number in range(4) for count in range(8)} == {"‹redacted A›"}


# The environment.


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_API_KEY", made_up(20)),
        ("MY_KEY", made_up(20)),
        ("HF_TOKEN", made_up(20)),
        ("APP_SECRET", "only letters"),
        ("DB_PASSWORD", made_up(8)),
        ("DB_PASSWD", made_up(8)),
        ("APP_CREDENTIALS", '{"user": "ada", "pw": "x"}'),
        ("OPENAI_API_KEY_2", made_up(20)),
        ("openai_api_key", made_up(20)),
        ("AWS_SECRET_ACCESS_KEY", "/" + "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYzEXAMPLEKEY1"),
        ("DATABASE_SECRET", "postgresql://ada:geheim@db/x"),
    ],
)
def test_values_of_the_environment_with_the_name_of_a_secret_are_known(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    know_environment()
    assert redact(f"it is {value}.") == f"it is ‹redacted {name}›."


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PUBLIC_KEY", made_up(20)),
        ("SSH_PUBLIC_KEY", made_up(20)),
        ("KEYBOARD", "de-latin1-nodeadkeys"),
        ("TOKENIZERS_PARALLELISM", "disabled-here"),
        ("MAX_TOKENS_LIMIT", "a-long-value"),
        ("MONKEY", "chimpanzee"),
        ("MY_KEY", "1234567"),
        ("MY_KEY", "1234567890"),
        ("MY_KEY", "disabled"),
        ("MY_KEY", "/home/ada/.ssh/id_ed25519"),
        ("MY_KEY", "~/keys/mine.pem"),
        ("MY_KEY", r"C:\Users\ada\key.pem"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "secrets/service-account.json"),
        ("TOKEN_URL_SECRET", "https://example.com/token"),
    ],
)
def test_other_values_of_the_environment_are_not(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    know_environment()
    text = f"it is {value}."
    assert redact(text) is text


def test_a_change_of_the_environment_is_seen_and_what_was_known_stays_known(monkeypatch):
    first, second = made_up(20, seed=1), made_up(20, seed=2)
    monkeypatch.setenv("MY_KEY", first)
    know_environment()
    monkeypatch.setenv("MY_KEY", second)
    assert redact(second) == second
    know_environment()
    assert redact(f"{first} {second}") == "‹redacted MY_KEY› ‹redacted MY_KEY›"


def test_an_environment_that_has_not_changed_is_not_looked_through_again(monkeypatch):
    looked = []
    know_environment()
    monkeypatch.setattr(known, "_is_secret", lambda name, value: looked.append(name))
    know_environment()
    assert looked == []
    monkeypatch.setenv("MY_KEY", made_up(20))
    know_environment()
    assert "MY_KEY" in looked


def test_the_first_text_knows_the_environment_though_nobody_has_read_it():
    code = "from nbagent.redact import redact; print(ascii(redact('it is ' + 'abcdefgh' * 2)))"
    environment = {**os.environ, "MY_KEY": "abcdefgh" * 2, "PYTHONPATH": os.getcwd()}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ascii("it is ‹redacted MY_KEY›")


# Marks.

KNOWN = {
    "A_KEY": "abc-def-123",
    "B_KEY": "f-123-ghi",
    "C_KEY": 'it\'s "ä"\n',
    "D_KEY": "sk-" + made_up(30),
    "E_KEY": "aaaabaaaab",
}
PIECES = [
    *(form for value in KNOWN.values() for form in encodings(value)),
    *(base64.b64encode(b"x" * before + value.encode()).decode() for value in KNOWN.values() for before in range(3)),
    *CANARIES.values(),
    *AROUND,
    *KINDS,
    *(f"{head}{made_up(25)}" for head in KINDS),
    *(
        "Authorization: Bearer ",
        "'x-api-key', b'",
        "-----END PRIVATE " + "KEY-----",
        "://u:",
        "@",
        "eyJ" + made_up(9) + ".",
    ),
    *("‹redacted key›", "‹redacted A_KEY›", "‹redacted ", "›", " ", "\n", "\\n", "task-", "the ", "-", ".", "a" * 300),
]
TEXTS = st.lists(
    st.one_of(
        st.sampled_from(PIECES),
        st.sampled_from(PIECES).flatmap(lambda piece: st.integers(0, len(piece)).map(lambda end: piece[:end])),
        st.sampled_from(PIECES).flatmap(lambda piece: st.integers(0, len(piece)).map(lambda start: piece[start:])),
        st.text(max_size=10),
        st.text("abcdef-0123 \n", max_size=30),
    ),
    max_size=8,
).map("".join)


def know_all():
    forget()
    for label, value in KNOWN.items():
        know(value, label)


@given(TEXTS)
def test_marking_twice_is_marking_once(text):
    know_all()
    masked = redact(text)
    assert redact(masked) is masked


def test_a_mark_brings_nothing_closer_together():
    know("ab-" * 50, "A")
    text = "-----BEGIN PRIVATE " + f"KEY-----{' .' * 50}{'ab-' * 50}{' .' * 20}" + made_up(30)
    assert redact(redact(text)) == redact(text) != text
    assert redact(text).endswith(made_up(30))


@given(TEXTS)
def test_no_known_value_is_left_in_any_form(text):
    know_all()
    masked = redact(text)
    assert not [value for value in KNOWN.values() for form in encodings(value.strip()) if form in masked]


# Texts in pieces.


def held(stream):
    """How many characters, and 8 that are shown."""
    return len(stream._stream._text.get())


def streamed(pieces):
    """What a stream shows, checked after each piece: nothing else than the beginning of the whole."""
    stream, shown, whole = StreamRedactor(), "", redact("".join(pieces))
    for piece in pieces:
        shown += stream.feed(piece)
        assert whole.startswith(shown)
    shown += stream.end()
    assert shown == whole
    return shown


@pytest.mark.parametrize("text", [*CANARIES.values(), *AROUND], ids=range(len(CANARIES) + len(AROUND)))
def test_a_secret_in_pieces_is_never_shown_however_it_is_cut(text):
    text = f"Before: {text} after."
    assert streamed(list(text)) != text
    for place in range(len(text)):
        streamed([text[:place], text[place:]])


@pytest.mark.parametrize("kind", AWKWARD)
def test_a_known_value_in_pieces_is_never_shown_however_it_is_cut(kind):
    know(AWKWARD[kind], "MY_KEY")
    for form in encodings(AWKWARD[kind]):
        text = f"Before {form} after"
        assert "‹redacted MY_KEY›" in streamed(list(text))
        for place in range(len(text)):
            streamed([text[:place], text[place:]])


@given(TEXTS, st.lists(st.integers(0, 40), max_size=60), st.data())
def test_the_pieces_make_the_whole(text, lengths, data):
    know_all()
    pieces, place = [], 0
    for length in lengths:
        pieces.append(text[place : place + length])
        place += length
    streamed([*pieces, text[place:]])
    cut = data.draw(st.integers(0, len(text)))
    streamed([text[:cut], *text[cut:]])


def test_a_known_value_is_marked_with_its_last_character():
    know("abcdefghij", "A")
    assert StreamRedactor().feed("It is abcdefghij") == "It is ‹redacted A›"


def test_a_header_is_not_forgotten_while_it_may_still_be_a_known_value():
    know("-key: abcdefghij", "A")
    assert streamed(["api-key: abcdefghi", " more"]) == "api-key: ‹redacted key› more"
    assert streamed(["api-key: abcdefghi", "jk", "l"]) == "api‹redacted A›"


def test_a_key_right_after_a_known_value_is_masked_too():
    know("abcdefghi1", "A")
    assert redact("abcdefghi1" + CANARIES["OpenAI"]) == "‹redacted A›‹redacted key›"
    assert streamed(["abcdefghi1", CANARIES["OpenAI"]]) == "‹redacted A›‹redacted key›"


def test_a_stream_is_as_new_after_its_end():
    stream = StreamRedactor()
    assert stream.feed("sk-") + stream.end() == "sk-"
    assert stream.feed(made_up(30)) + stream.end() == made_up(30)
    assert stream.end() == ""


def test_ordinary_prose_is_shown_at_the_latest_with_the_next_blank():
    know_all()
    prose = (
        "A risk-based task: the authorization of an api-key, as in scikit; ask bearers, or https://example.com now. "
    )
    stream, shown = StreamRedactor(), ""
    for word in re.findall(r"\S+ ", prose * 2):
        shown += stream.feed(word.rstrip())
        assert held(stream) <= 8 + len(word)
        shown += stream.feed(" ")
        assert word in {"authorization ", "api-key, ", "now. "} or shown.endswith(word)
    assert shown + stream.end() == prose * 2


def test_a_secret_is_marked_as_soon_as_it_is_sure_to_be_one():
    stream = StreamRedactor()
    assert stream.feed("It is sk-" + made_up(20)) == "It is ‹redacted key›"
    assert stream.feed(made_up(20)) == ""
    assert stream.feed(" and more.") == " and more."


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "a1",
        "sk-",
        "sk-a1",
        "eyJ",
        "eyJ-",
        "://",
        "://a:b",
        "api-key:",
        "-----BEGIN ",
        private_key()[:60],
        "AKIA",
        "‹",
    ],
)
def test_no_text_is_held_back_for_long(unit):
    know_all()
    stream, text = StreamRedactor(), unit * (20_000 // len(unit))
    most = 0
    for place in range(0, len(text), 7):
        stream.feed(text[place : place + 7])
        most = max(most, held(stream))
    assert most < 1700
    assert len(stream._stream._tails) < 300


def test_a_private_key_is_dropped_as_it_comes():
    stream = StreamRedactor()
    key = private_key(lines=150)
    shown = []
    for letter in key:
        shown.append(stream.feed(letter))
        assert held(stream) < 320
    assert "".join(shown) == "‹redacted private key›"
    assert stream.feed(" after that") + stream.end() == " after that"


def test_a_private_key_without_an_end_does_not_hide_all_that_follows():
    text = private_key()[:-40] + " and then. " * 3000
    masked = redact(text)
    assert masked.startswith("‹redacted private key›")
    assert len(text) - len(masked) == 16_384 - len("‹redacted private key›")
    streamed([text[place : place + 999] for place in range(0, len(text), 999)])


# Costs and leaks.


def seconds(work):
    times = []
    for _ in range(5):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize(
    "unit",
    ["base64", "hex", "a", "sk-", "sk-a1", "AKIA", "eyJ-", "://a:b", "api-key:12345678", "-", "-----BEGIN ", "Bearer "],
)
def test_time_grows_no_faster_than_the_text(unit):
    know_all()
    drawn = random.Random(1).randbytes(150_000)
    random_text = {"base64": base64.b64encode(drawn).decode(), "hex": drawn.hex()}.get(unit)
    long = random_text or unit * (200_000 // len(unit))
    short = long[: len(long) // 8]
    redact(short)
    assert seconds(lambda: redact(long)) < 8 * 3 * max(seconds(lambda: redact(short)), 0.0003)


def test_a_stream_looks_at_each_piece_a_few_times_at_most(monkeypatch):
    know_all()
    looked = 0
    search = Search.__init__

    def counted(self, text, at, *more, **options):
        nonlocal looked
        looked += len(text) - at
        search(self, text, at, *more, **options)

    monkeypatch.setattr(Search, "__init__", counted)
    text = private_key(lines=200) + "sk-" + made_up(30_000) + "/" + made_up(30_000, LETTERS + "+/")
    stream = StreamRedactor()
    for place in range(0, len(text), 100):
        stream.feed(text[place : place + 100])
    stream.end()
    assert looked < 2 * len(text)


def test_a_short_text_is_not_looked_at():
    know_all()
    calls = []
    sys.setprofile(lambda frame, event, argument: calls.append(event) if event == "call" else None)
    try:
        redact("1234567")
    finally:
        sys.setprofile(None)
    assert len(calls) <= 1


def test_no_beginning_of_a_secret_is_the_beginning_of_another():
    heads = sorted(KINDS)
    assert not [(one, two) for one in heads for two in heads if one != two and two.startswith(one)]


def reachable(thing, depth=4):
    yield thing
    if depth:
        names = [*getattr(thing, "__dict__", {}), *getattr(type(thing), "__slots__", ())]
        for name in names:
            yield from reachable(getattr(thing, name, None), depth - 1)


def test_no_known_value_is_in_any_repr():
    value = made_up(20, seed=5)
    know(value, "MY_KEY")
    stream = StreamRedactor()
    stream.feed(value[:15])
    shown = [f"{thing!r}{thing!s}" for root in (module._store, stream, redact, know) for thing in reachable(root)]
    modules = [each for name, each in sys.modules.items() if name.startswith("nbagent.redact")]
    assert len(modules) == 7
    shown += [repr(thing) for each in modules for thing in vars(each).values()]
    assert not [text for text in shown if value[:15] in text]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_holds_secrets_cannot_be_pickled(protocol):
    for thing in (StreamRedactor(), module._store, module._store.forms(), Hidden("abc")):
        with pytest.raises(TypeError):
            pickle.dumps(thing, protocol)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_what_holds_secrets_cannot_be_copied(copied):
    for thing in (StreamRedactor(), module._store.forms(), Hidden("abc")):
        with pytest.raises(TypeError):
            copied(thing)


@given(st.lists(st.text(st.sampled_from("ab: @/sk-proj1")), max_size=6), st.lists(st.integers(0, 60), max_size=5))
def test_pieces_together_are_the_redacted_text_and_none_shows_more(words, cuts):
    whole = (
        " ".join(words)
        + " postgres://u:hunter2x@h api-key: aB3dE5gH7jK9mN1pQ2rS4tU6vW8xYz0a sk-proj-"
        + "aB3dE5gH7j" * 4
    )
    places = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    pieces = [whole[a:b] for a, b in pairwise(places)]
    shown = redact_together(pieces)
    assert len(shown) == len(pieces)
    assert "hunter2x" not in " ".join(shown)
    assert "".join(shown) == redact(whole)
