"""Stretches: an edited request, put down as what is new in it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nbagent.events import Stretch
from nbagent.messages import Message
from nbagent.request import Messages
from nbagent.runtime.stretches import messages_in, stretches_of


def messages(text):
    return Messages([Message("user", letter) for letter in text])


few = st.text("abc", max_size=12).map(messages)


@given(few, few, few)
def test_any_messages_come_back_as_they_were(sent, request, edited):
    stretches = stretches_of(sent, request, edited)
    assert messages_in(stretches, request, edited) == sent
    assert all(stretch.messages or stretch.start < stretch.stop for stretch in stretches)
    held = {*request, *edited}
    assert not any(message in held for stretch in stretches for message in stretch.messages)


def test_what_is_known_is_named_where_most_of_it_is():
    found = stretches_of(messages("xabcdefYZ"), messages("abcdef"), messages("xab"))
    new = Stretch("new", messages=tuple(messages("YZ")))
    assert found == (Stretch("edited", 0, 3), Stretch("request", 2, 6), new)
    assert stretches_of(messages("aaaa"), messages("b"), messages("aaa")) == (
        Stretch("edited", 0, 3),
        Stretch("edited", 2, 3),
    )
    assert stretches_of(Messages(), messages("a"), Messages()) == ()
