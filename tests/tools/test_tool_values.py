"""Any value becomes a text for the model, the same one each time, and its pictures become images."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import enum
import fractions
import io
import itertools
import math
import threading
import types
import uuid
from decimal import Decimal
from pathlib import PurePosixPath, PureWindowsPath
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython import display
from pydantic import BaseModel, RootModel, SecretStr

from nbagent.messages import Image
from nbagent.tools.response import ToolResponse
from nbagent.tools.serialise import describe


class Unit(enum.Enum):
    C = "celsius"


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Place:
    city: str
    when: dt.date
    key: str = dataclasses.field(default="secret", repr=False)


class Trip(BaseModel):
    places: list[Place]
    password: SecretStr = SecretStr("hidden")


class Point(NamedTuple):
    x: int
    y: int


class Broken:
    def __repr__(self):
        raise ValueError("no")


class Looping:
    def __repr__(self):
        return repr(self)


class Numeric:
    def __repr__(self):
        return 5


class Liar:
    @property
    def __class__(self):
        raise RuntimeError("no")


class BrokenDict(dict):
    def items(self):
        raise RuntimeError("no")


class Wordless(Exception):
    def __str__(self):
        raise ValueError("no")


def numbers():
    yield 1


async def later(): ...


DAY = dt.date(2024, 5, 1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("It's sunny\n", "It's sunny\n"),
        ("", ""),
        (None, "null"),
        (True, "true"),
        (5, "5"),
        (2.5, "2.5"),
        (math.nan, "NaN"),
        ([math.nan, math.inf, -math.inf], '["NaN", "Infinity", "-Infinity"]'),
        ({"b": 1, "a": [1, "é", None]}, '{"b": 1, "a": [1, "é", null]}'),
        ((1, (2,)), "[1, [2]]"),
        (Point(1, 2), "[1, 2]"),
        ({1: "a", None: "b", (1, 2): "c"}, '{"1": "a", "null": "b", "[1, 2]": "c"}'),
        ({DAY: "d", Unit.C: "e"}, '{"2024-05-01": "d", "celsius": "e"}'),
        ({1: "a", "1": "b"}, '{"1": "a", "1 (str)": "b"}'),
        (types.MappingProxyType({"a": 1}), '{"a": 1}'),
        (collections.deque([1, 2]), "[1, 2]"),
        (range(3), "[0, 1, 2]"),
        ({"a": 1}.keys(), '["a"]'),
        ({10, 2, "b", "a", None, (1, 2)}, '[2, 10, "a", "b", null, [1, 2]]'),
        (frozenset([frozenset("ab"), frozenset("c")]), '[["a", "b"], ["c"]]'),
        (DAY, "2024-05-01"),
        (dt.datetime(2024, 5, 1, 10, tzinfo=dt.UTC), "2024-05-01T10:00:00+00:00"),
        (dt.time(10, 30), "10:30:00"),
        (dt.timedelta(days=1), "1 day, 0:00:00"),
        (Decimal("1.10"), "1.10"),
        (fractions.Fraction(1, 3), "1/3"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("a/b"), "a/b"),
        (PureWindowsPath(r"a\b"), "a/b"),
        (Unit.C, "celsius"),
        (Level.LOW, "1"),
        (b"hello", '5 bytes: "hello"'),
        (bytearray(b"\xff\x00"), "2 bytes: ff 00"),
        (b"a" * 1000, f'1,000 bytes: "{"a" * 64}" …'),
        (Place("Oslo", DAY), '{"city": "Oslo", "when": "2024-05-01"}'),
        (Trip(places=[]), "{\"places\": [], \"password\": \"SecretStr('**********')\"}"),
        (RootModel[list[int]]([1]), "[1]"),
        (numbers(), "<generator numbers, not consumed>"),
        (iter([1]), "<list_iterator, not consumed>"),
        (itertools.count(), "<count, not consumed>"),
        (ValueError("no such city"), "ValueError: no such city"),
        (Wordless(), "Wordless (its text cannot be shown: ValueError)"),
        (object(), "<object object>"),
        (print, "<built-in function print>"),
        (numbers, "<function numbers>"),
        (math, "<module math>"),
        (Broken(), "<Broken that cannot be shown: ValueError>"),
        (Looping(), "<Looping that cannot be shown: RecursionError>"),
        (Numeric(), "<Numeric that cannot be shown: TypeError>"),
        ([1, Broken(), 2], '[1, "<Broken that cannot be shown: ValueError>", 2]'),
        (BrokenDict(a=1), "{'a': 1}"),
        ("\ud800", "�"),
        (["\ud83d\ude00"], '["😀"]'),
    ],
)  # fmt: skip
def test_a_value_has_its_text(value, text):
    described = describe(value)
    assert (described.text, described.status, described.images) == (text, "success", ())
    assert described.data is value


def test_an_object_that_lies_about_its_class_has_a_text():
    assert describe(Liar()).text.endswith("Liar object>")


def test_an_integer_that_python_refuses_to_write_has_a_text():
    assert describe([10**5000]).text == '["<int of about 5,001 digits>"]'


def test_a_coroutine_is_named():
    waiting = later()
    assert describe(waiting).text == "<coroutine later, never awaited>"
    waiting.close()


def test_a_generator_is_not_consumed():
    values = numbers()
    describe([values])
    assert list(values) == [1]


def test_cycles_end():
    cycle: list = [1]
    cycle.append({"back": cycle})
    assert describe(cycle).text == '[1, {"back": "<the same list again>"}]'


def test_what_appears_twice_is_shown_twice():
    twice = [1]
    assert describe([twice, twice]).text == "[[1], [1]]"


def test_depth_has_an_end():
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    assert "too deep to show" in describe(deep).text


@pytest.mark.parametrize(
    "value",
    [
        range(10**12),
        ["x" * 10**5] * 100_000,
        {n: n for n in range(200_000)},
        [[[[[0] * 50] * 50] * 50] * 50] * 50,
        [b"a" * 100] * 200_000,
        set(range(100_000)),
    ],
    ids=["range", "long texts", "dict", "tree", "bytes", "set"],
)
def test_size_has_an_end(value):
    described = describe(value)
    assert len(described.text) < 8_000_000
    assert "more" in described.text[-200:]


def test_a_response_gives_its_own_text_status_and_data():
    described = describe(ToolResponse.partial("half of it", {"rows": 3}))
    assert (described.text, described.status, described.data) == ("half of it", "partial", {"rows": 3})


def test_numpy_values():
    np = pytest.importorskip("numpy")
    texts = {
        "0.1": np.float32(0.1),
        "0.5": np.float64(0.5),
        "3": np.int64(3),
        "true": np.bool_(True),
        "NaN": np.float32("nan"),
        "2024-05-01": np.datetime64("2024-05-01"),
        "array of shape (3,), int64: [0 1 2]": np.arange(3, dtype="int64"),
        "array of shape (2, 2), float64:\n[[0. 0.]\n [0. 0.]]": np.zeros((2, 2)),
        "array of shape (1000,), int64: [  0   1   2 ... 997 998 999]": np.arange(1000, dtype="int64"),
        '{"a": "array of shape (1,), object: [<object object>]"}': {"a": np.array([object()])},
    }
    for text, value in texts.items():
        assert describe(value).text == text
    with np.printoptions(precision=1, linewidth=20):
        assert "0.123" in describe(np.array([0.123])).text


def test_pandas_values(monkeypatch):
    pd = pytest.importorskip("pandas")
    monkeypatch.setenv("COLUMNS", "20")
    wide = describe(pd.DataFrame({f"column_{n}": [n] for n in range(12)})).text
    assert wide.startswith("DataFrame of 1 row × 12 columns\n")
    assert len(wide.splitlines()) == 3
    long = describe(pd.DataFrame({"n": range(300)})).text
    assert long.startswith("DataFrame of 300 rows × 1 column\n")
    assert long.endswith("9  9\n… 290 more rows")
    assert (
        describe(pd.Series([1.5, 2], name="close")).text == "Series of 2 values, float64, named close\n0  1.5\n1  2.0"
    )
    assert describe(pd.Series([], dtype=float)).text == "Series of 0 values, float64"
    assert describe([pd.Timestamp("2024-05-01"), pd.NaT, pd.NA]).text == '["2024-05-01T00:00:00", "NaT", "<NA>"]'
    assert describe(pd.Index(["a", "b"])).text == '["a", "b"]'
    assert "0x" not in describe(pd.DataFrame({"o": [object()]})).text
    assert describe(pd.DataFrame({"o": ["crash at 0xdeadbeef, see log"]})).text.endswith("at 0xdeadbeef, see log")


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def chart(plt, title=""):
    figure, axes = plt.subplots()
    axes.plot([1, 2])
    axes.set_title(title)
    return figure, axes


def test_a_figure_becomes_an_image_and_is_closed(plt):
    figure, axes = chart(plt, "Closing\nprices")
    described = describe(figure)
    assert described.text == "figure: Closing prices"
    (image,) = described.images
    assert (image.caption, image.media_type) == ("Closing prices", "image/png")
    assert image.data.startswith(b"\x89PNG")
    assert b"Software" not in image.data
    assert plt.get_fignums() == []
    assert describe(axes).images == described.images


def test_a_figure_without_a_title_is_called_figure(plt):
    described = describe(chart(plt)[1])
    assert (described.text, described.images[0].caption) == ("figure", "figure")


def test_parts_of_one_figure_are_one_image(plt):
    assert len(describe(chart(plt)).images) == 1
    assert len(describe(plt.subplots(2, 2)).images) == 1
    parts = plt.figure().subfigures(1, 2)
    parts[0].suptitle("Left")
    assert describe({"left": parts[0]}).text == '{"left": "figure: Left"}'


def test_several_figures_are_several_images(plt):
    described = describe({"first": chart(plt, "A")[0], "rest": [chart(plt, "B")[0], 5]})
    assert described.text == '{"first": "figure: A", "rest": ["figure: B", 5]}'
    assert [image.caption for image in described.images] == ["A", "B"]


def test_a_figure_in_the_data_of_a_response_is_an_image(plt):
    described = describe(ToolResponse.ok("Drawn.", chart(plt, "A")[0]))
    assert (described.text, len(described.images)) == ("Drawn.", 1)


def test_a_figure_that_cannot_be_drawn_says_so(plt):
    figure, _ = chart(plt, "$\\oops$")
    described = describe(figure)
    assert described.text.startswith("figure: $\\oops$ (cannot be drawn: ValueError")
    assert described.images == ()
    assert plt.get_fignums() == []


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "1", "P", "CMYK", "F", "HSV"])
def test_pil_images_and_picture_files_are_images(mode):
    pil = pytest.importorskip("PIL.Image")
    described = describe([pil.new(mode, (4, 5))])
    assert described.text == '["image: 4 × 5"]'
    assert described.images[0].data.startswith(b"\x89PNG")
    again = describe(described.images[0].data)
    assert again.text == f"image: image/png, {len(described.images[0].data)} bytes"
    assert again.images[0].data == described.images[0].data
    buffer = io.BytesIO()
    pil.new("RGB", (4, 5)).save(buffer, "JPEG")
    assert describe(buffer.getvalue()).images[0].media_type == "image/jpeg"


def test_images_have_an_end():
    png = b"\x89PNG\r\n\x1a\n"
    assert len(describe([png] * 100).images) == 20


LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary() | st.dates()
    | st.datetimes() | st.timedeltas() | st.decimals() | st.fractions() | st.uuids() | st.complex_numbers()
    | st.sampled_from([Unit.C, Level.LOW, numbers, math])
    | st.sampled_from([Broken, Looping, Numeric, object, Wordless]).map(lambda kind: kind())
)  # fmt: skip
HASHABLE = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates()
VALUES = st.recursive(
    LEAVES | st.sets(HASHABLE) | st.frozensets(HASHABLE | st.frozensets(HASHABLE)),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(HASHABLE, inner)
        | st.builds(Point, inner, inner)
        | st.builds(ToolResponse, st.text(), data=inner)
    ),
    max_leaves=20,
)


@given(VALUES)
def test_any_value_has_a_text_and_always_the_same(value):
    first, second = describe(value), describe(value)
    assert first.text == second.text
    first.text.encode()  # no lone surrogate is left


@given(st.sets(HASHABLE))
def test_a_set_has_one_text_whatever_its_history(values):
    backwards = set()
    for value in reversed(list(values)):
        backwards.add(value)
    assert describe(values).text == describe(backwards).text


class Leaving:
    def __repr__(self):
        raise SystemExit(3)


def test_a_repr_that_ends_python_has_a_text():
    assert describe(Leaving()).text == "<Leaving that cannot be shown: SystemExit>"
    assert describe([Leaving()]).text == '["<Leaving that cannot be shown: SystemExit>"]'


def test_threads_are_shown_without_their_numbers():
    assert describe(threading.main_thread()).text == "<_MainThread(MainThread, started …)>"
    done = threading.Event()
    thread = threading.Thread(target=done.wait, name="worker", daemon=True)
    thread.start()
    assert describe(thread).text == "<Thread(worker, started daemon …)>"
    done.set()


PNG = b"\x89PNG\r\n\x1a\nrest"


class Drawn:
    def __init__(self, drawn):
        self.drawn = drawn

    def __repr__(self):
        return "Drawn()"

    def _repr_png_(self):
        return self.drawn


def test_what_ipython_displays_is_what_it_holds():
    picture = describe(display.Image(data=PNG))
    assert (picture.text, picture.images) == (f"image: image/png, {len(PNG)} bytes", (Image(PNG, caption="image"),))
    assert describe(display.Markdown("*hi*")).text == "*hi*"
    assert describe(display.JSON({"a": [1]})).text == '{"a": [1]}'
    assert describe(display.Image(url="http://127.0.0.1/x.png")).text == "Image of http://127.0.0.1/x.png"


@pytest.mark.parametrize("drawn", [PNG, (PNG, {"width": 1})])
def test_an_object_that_draws_itself_is_an_image(drawn):
    made = describe([Drawn(drawn)])
    assert (made.text, [image.data for image in made.images]) == ('["Drawn()"]', [PNG])


@pytest.mark.parametrize("drawn", [None, "text", ()])
def test_an_object_that_draws_nothing_is_its_repr(drawn):
    made = describe(Drawn(drawn))
    assert (made.text, made.images) == ("Drawn()", ())


class Port(msgspec.Struct):
    name: str
    place: Place | None = None


def test_a_struct_is_its_fields():
    made = describe(Port("A", Place("B", dt.date(2026, 1, 2))))
    assert made.text == '{"name": "A", "place": {"city": "B", "when": "2026-01-02"}}'
