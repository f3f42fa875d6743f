"""Spec text: an agent's spec as the text of a cell, or as YAML with the keys of a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbagent.agents.spec_no_text import NoText, kind_of, no_text
from nbagent.agents.spec_values import WRITERS
from nbagent.agents.spec_variables import is_variable, once
from nbagent.agents.spec_words import MOST_CHARACTERS, RESERVED, SECRET
from nbagent.agents.spec_yaml import A_KEY, check, written
from nbagent.errors import ConfigError
from nbagent.redact import redact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbagent.agents.spec import AgentSpec

_MAGICS = {"plan": "plan", "reflection": "reflect"}
_SHARED = {"context"}
"""Keys of two fields: memories and retrievers."""


def cell_text(spec: AgentSpec) -> str:
    """The cell. What has no text in a cell is named in a comment."""
    said, objects = _said(spec)
    if spec.strategy in _MAGICS:
        said.pop("strategy", None)
    name = said.pop("name", "")
    comments = "".join([f"# {field}: {_shown(what)}, given in Python\n" for field, what in objects])
    header = written(said) if said else ""
    return f"%%{_MAGICS.get(spec.strategy, 'agent')} {name}".rstrip() + f"\n{comments}{header}---\n"


def yaml_text(spec: AgentSpec) -> str:
    """YAML. Raises ConfigError for what has no text."""
    said, objects = _said(spec)
    if objects:
        field, what = objects[0]
        raise ConfigError(
            f"{field}: {_shown(what)} cannot be written as YAML; give it in Python, with build_agent(spec)"
        )
    return written(said)


def _shown(what: str) -> str:
    """What a field is, on one line that is not long, and without secrets."""
    if SECRET.search(what):
        return A_KEY
    line = " ".join(redact(what).split())
    line = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
    return "".join([one if one.isprintable() else ascii(one)[1:-1] for one in line])


def _said(spec: AgentSpec) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """What a cell says of it, by its keys; and the fields that have no text, with what they are."""
    said: dict[str, Any] = {}
    objects: list[tuple[str, str]] = []
    fields: dict[str, str] = {}
    for field, info in type(spec).model_fields.items():
        value: Any = getattr(spec, field)
        if value is None or (isinstance(value, bool | str) and value == info.default):
            continue
        try:
            found = (
                _name(spec.name) if field == "name" else WRITERS[field](value) if field in WRITERS else no_text(value)
            )
            for key, one in found.items():
                check(key, one)
            for key in _SHARED & found.keys():
                found[key] = once([*said.get(key, ()), *found[key]])
            said |= found
            fields |= dict.fromkeys(found, field)
        except NoText as error:
            objects.append((field, str(error)))
        except (ConfigError, TypeError, ValueError, AttributeError, RecursionError):  # what no agent can be built of
            objects.append((field, kind_of(value)))
    return _that_fits(said, objects, fields), objects


def _that_fits(said: dict[str, Any], objects: list[tuple[str, str]], fields: Mapping[str, str]) -> dict[str, Any]:
    """As much as a cell has room for: the longest fields go to those that have no text. `fields`: which each key is."""
    while len(written(said)) + len(objects) * (_LONGEST + _AROUND) > MOST_CHARACTERS - _AROUND:
        longest = fields[max(said, key=lambda key: len(written({key: said[key]})))]
        objects.append((longest, f"a value with which the cell has more than {MOST_CHARACTERS:,} characters"))
        said = {key: value for key, value in said.items() if fields[key] != longest}
    return said


_LONGEST, _AROUND = 200, 100
"""Characters: of what a comment says at most, of what stands around it or below the header at most."""


def _name(name: str) -> dict[str, Any]:
    if not is_variable(name):
        raise NoText(f"the name {name!r} (no name of a variable)")
    if name in RESERVED:
        raise NoText(f"the name {name!r} (a subcommand of %agent)")
    return {"name": name}
