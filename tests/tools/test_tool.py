"""A tool is a function that knows how to describe itself to a model, and still is a function."""

from __future__ import annotations

import asyncio
import functools
import inspect

import pytest

from nbagent.errors import ToolDefinitionError
from nbagent.tools.tool import Tool, as_tool, tool


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


async def fetch(url: str) -> str:
    """Fetches."""
    return url.upper()


class Scale:
    """Scales numbers."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def __call__(self, x: int) -> int:
        """Multiplies."""
        return x * self.factor

    def times(self, x: int) -> int:
        """x times the factor."""
        return x * self.factor

    @tool(parallel=True)
    def marked(self, x: int) -> int:
        """Marked as a tool in the class."""
        return x * self.factor

    @tool
    @classmethod
    def of_class(cls, x: int) -> str:
        """Of the class."""
        return f"{cls.__name__} {x}"

    @staticmethod
    @tool
    def outside(x: int) -> int:
        """Static outside."""
        return x

    @tool
    @staticmethod
    def inside(x: int) -> int:
        """Static inside."""
        return x


class AsyncCall:
    async def __call__(self, x: int) -> int:
        """Waits."""
        return x


def call(made: Tool, arguments: str):
    args, kwargs = made.bind(arguments)
    result = made(*args, **kwargs)
    return asyncio.run(result) if made.is_async else result


CALLABLES = [
    pytest.param(add, "add", '{"a": 2, "b": 3}', 5, id="function"),
    pytest.param(fetch, "fetch", '{"url": "x"}', "X", id="async function"),
    pytest.param(Scale(3).times, "times", '{"x": 2}', 6, id="bound method"),
    pytest.param(Scale(3), "Scale", '{"x": 2}', 6, id="callable object"),
    pytest.param(AsyncCall(), "AsyncCall", '{"x": 2}', 2, id="async callable object"),
    pytest.param(functools.partial(add, 10), "add", '{"b": 1}', 11, id="partial, by position"),
    pytest.param(functools.partial(add, b=10), "add", '{"a": 1}', 11, id="partial, by keyword"),
    pytest.param(functools.partial(fetch, url="y"), "fetch", "{}", "Y", id="partial of an async function"),
    pytest.param(functools.partial(Scale(2).times, x=4), "times", "", 8, id="partial of a method"),
    pytest.param(functools.partial(tool(add), b=1), "add", '{"a": 1}', 2, id="partial of a tool"),
    pytest.param(functools.partial(tool(fetch), "z"), "fetch", "", "Z", id="partial of an async tool"),
    pytest.param(Scale(3).marked, "marked", '{"x": 2}', 6, id="method marked as a tool"),
    pytest.param(Scale(3).of_class, "of_class", '{"x": 2}', "Scale 2", id="classmethod below @tool"),
    pytest.param(Scale.of_class, "of_class", '{"x": 2}', "Scale 2", id="classmethod from the class"),
    pytest.param(Scale(3).outside, "outside", '{"x": 2}', 2, id="tool below @staticmethod"),
    pytest.param(Scale.inside, "inside", '{"x": 2}', 2, id="staticmethod below @tool"),
]


@pytest.mark.parametrize(("thing", "name", "arguments", "result"), CALLABLES)
def test_every_kind_of_callable_becomes_a_tool_that_runs(thing, name, arguments, result):
    made = as_tool(thing)
    assert made.name == name
    assert call(made, arguments) == result


@pytest.mark.parametrize(
    ("thing", "is_async"),
    [
        (add, False),
        (fetch, True),
        (AsyncCall(), True),
        (functools.partial(fetch, "x"), True),
        (functools.partial(AsyncCall(), 1), True),
        (functools.partial(tool(fetch), "x"), True),
        (Scale(1), False),
    ],
)
def test_a_tool_knows_whether_it_is_async(thing, is_async):
    assert as_tool(thing).is_async is is_async


def test_a_decorated_function_stays_what_it_was():
    made = tool(add)
    assert made(1, b=2) == 3
    assert made.function is made.__wrapped__ is add
    assert (made.__name__, made.__qualname__, made.__module__, made.__doc__) == (
        "add",
        "add",
        __name__,
        "Adds two numbers.",
    )
    assert inspect.signature(made) == inspect.signature(add)


def test_the_options_have_their_defaults():
    made = tool(add)
    assert (made.parallel, made.idempotent, made.on_error, made.max_chars) == (False, False, "observe", 20_000)
    assert (made.name, made.description) == ("add", "Adds two numbers.")


def test_the_options_are_kept():
    made = tool(name="plus", description=" Sum. ", parallel=True, idempotent=True, on_error="raise", max_chars=10)(add)
    assert (made.name, made.schema.name, made.description) == ("plus", "plus", "Sum.")
    assert (made.parallel, made.idempotent, made.on_error, made.max_chars) == (True, True, "raise", 10)


def test_a_repr_names_the_tool_and_its_unusual_options():
    assert repr(tool(add)) == "Tool('add')"
    assert repr(tool(parallel=True, on_error="raise")(add)) == "Tool('add', parallel=True, on_error='raise')"


def test_a_tool_of_a_tool_is_a_tool_of_its_function():
    again = tool(name="plus")(tool(add))
    assert (again.name, again.function) == ("plus", add)
    assert as_tool(again) is again


def test_the_schema_is_made_once():
    made = tool(add)
    assert made.schema is made.schema


def test_methods_of_two_objects_share_a_schema_and_keep_their_objects():
    two, three = Scale(2).marked, Scale(3).marked
    assert two.schema is three.schema
    assert "self" not in two.schema.parameters["properties"]
    assert two.parallel
    assert (two(5), three(5)) == (10, 15)


def test_an_async_method_is_an_async_tool():
    class Site:
        @tool
        async def get(self, path: str) -> str:
            """Gets."""
            return path

    made = Site().get
    assert made.is_async
    assert call(made, '{"path": "/"}') == "/"


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        ("get_weather", "got the string 'get_weather'; pass the function itself"),
        (42, "got an object of type int; pass the function itself"),
        (None, "got an object of type NoneType"),
        (Scale, "got the class Scale; pass a function"),
        (lambda: 1, r"letters, digits, _ or -; got '<lambda>'; give it one with tool\(name="),
        (Scale.marked, "parameter 'self': a method needs its object"),
        (Scale.times, "parameter 'self': a method needs its object"),
        (len, "parameter 'obj' has no type"),
        (max, "the parameters of this function max in module builtins cannot be read"),
    ],
)
def test_what_is_no_tool_is_refused_with_what_to_do(thing, said):
    with pytest.raises(ToolDefinitionError, match=said):
        as_tool(thing)


def test_a_lambda_with_a_name_is_a_tool():
    assert call(tool(name="one")(lambda: 1), "{}") == 1


@pytest.mark.parametrize("name", ["", "a b", "é", "a" * 65, "a.b", "a\n", 5])
def test_a_name_that_no_model_api_takes_is_refused(name):
    with pytest.raises(ToolDefinitionError, match="1 to 64 letters"):
        tool(name=name)(add)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"on_error": "ignore"}, "on_error must be 'observe' or 'raise', got 'ignore'"),
        ({"max_chars": 0}, "max_chars must be a whole number above 0, got 0"),
        ({"max_chars": "10"}, "got '10'"),
        ({"max_chars": True}, "got True"),
    ],
)
def test_a_wrong_option_is_refused(options, said):
    with pytest.raises(ToolDefinitionError, match=said):
        tool(**options)(add)


def test_bind_gives_positional_only_parameters_by_position():
    def power(base: int, exponent: int = 2, /, times: int = 1) -> int:
        return base**exponent * times

    made = tool(power)
    assert made.bind('{"base": 3}') == ((3, 2), {})
    assert made.bind('{"times": 2, "exponent": 3, "base": 3}') == ((3, 3), {"times": 2})
    assert call(made, '{"base": 3, "times": 5}') == 45


def test_bind_leaves_an_omitted_parameter_to_the_function():
    def note(text: str, tags: list[str] = []) -> None: ...  # noqa: B006  the point: its own default, not a copy

    assert tool(note).bind('{"text": "x"}') == ((), {"text": "x"})


def test_a_key_bound_by_keyword_is_hidden_and_cannot_be_overwritten():
    def search(query: str, api_key: str, limit: int = 5) -> str:
        return f"{query} {api_key} {limit}"

    made = as_tool(functools.partial(functools.partial(search, api_key="secret"), limit=3))
    assert list(made.schema.parameters["properties"]) == ["query"]
    assert "secret" not in repr(made.schema)
    assert call(made, '{"query": "x"}') == "x secret 3"
    with pytest.raises(Exception, match="api_key: expected no such argument"):
        made.bind('{"query": "x", "api_key": "mine"}')


def test_a_function_behind_functools_wraps_shows_its_own_parameters():
    @functools.wraps(add)
    def wrapper(*args, **kwargs):
        return add(*args, **kwargs) + 100

    assert call(as_tool(wrapper), '{"a": 1, "b": 2}') == 103
