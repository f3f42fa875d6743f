"""A ToolResponse is a text with a status."""

from __future__ import annotations

import dataclasses

import pytest

from nbagent.tools.response import ToolResponse


def test_each_status_has_its_constructor():
    assert ToolResponse.ok("a", 1) == ToolResponse("a", "success", 1) == ToolResponse("a", data=1)
    assert ToolResponse.partial("a").status == "partial"
    assert ToolResponse.error("a").status == "error"


def test_its_str_is_its_text():
    assert str(ToolResponse.error("no such city")) == "no such city"


def test_a_wrong_status_names_the_allowed_ones():
    with pytest.raises(ValueError, match="one of success, partial, error; got 'ok'"):
        ToolResponse("a", "ok")


def test_a_text_that_is_no_str_is_refused():
    with pytest.raises(TypeError, match="must be a str, got dict"):
        ToolResponse({"a": 1})


def test_it_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ToolResponse("a").text = "b"
