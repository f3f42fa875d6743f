"""Spec text: an agent's spec as the text of a cell, or as YAML with the keys of a cell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nbagent.agents.spec_no_text import NoText, kind_of, no_text
from nbagent.agents.spec_values import WRITERS
from nbagent.agents.spec_variables import is_variable, once
from nbagent.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbagent.agents.spec import AgentSpec

_MAGICS = {"plan": "plan", "reflection": "reflect"}
_SHORT = 60
"""Characters; a list of names that is shorter stands on one line."""


def cell_text(spec: AgentSpec) -> str:
    """The cell. What has no text in a cell is named in a comment."""
    said, objects = _said(spec)
    if spec.strategy in _MAGICS:
        said.pop("strategy", None)
    name = spec.name if is_variable(spec.name) else ""
    if not name:
        objects.insert(0, ("name", f"{spec.name!r}, which is no name of a variable"))
    comments = "".join([f"# {field}: {what}, given in Python\n" for field, what in objects])
    header = _yaml(said) if said else ""
    return f"%%{_MAGICS.get(spec.strategy, 'agent')} {name}".rstrip() + f"\n{comments}{header}---\n"


def yaml_text(spec: AgentSpec) -> str:
    """YAML. Raises ConfigError for what has no text."""
    said, objects = _said(spec)
    if not is_variable(spec.name):
        objects.insert(0, ("name", f"the name {spec.name!r}"))
    if objects:
        field, what = objects[0]
        raise ConfigError(f"{field}: {what} cannot be written as YAML; give it in Python, with build_agent(spec)")
    return _yaml({"name": spec.name, **said})


def _said(spec: AgentSpec) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    said: dict[str, Any] = {}
    objects: list[tuple[str, str]] = []
    for field, info in type(spec).model_fields.items():
        value = getattr(spec, field)
        if field == "name" or value is None or (isinstance(value, bool | str) and value == info.default):
            continue
        try:
            written = WRITERS[field](value) if field in WRITERS else no_text(value)
            if "context" in written:  # memories and retrievers have one key
                written["context"] = once([*said.get("context", ()), *written["context"]])
            said |= written
        except NoText as error:
            objects.append((field, str(error)))
        except (ConfigError, TypeError, ValueError, AttributeError):  # what no agent can be built of
            objects.append((field, kind_of(value)))
    return said, objects


def _yaml(said: Mapping[str, Any]) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:  # noqa: ARG002
            return super().increase_indent(flow, False)

    def text(dumper: Any, value: str) -> Any:
        style = None if value.isprintable() else "|" if _fits_a_block(value) else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    def sequence(dumper: Any, value: list[Any]) -> Any:
        is_short = all(isinstance(one, str) and "\n" not in one for one in value) and len(str(value)) < _SHORT
        return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=is_short)

    Dumper.add_representer(str, text)
    Dumper.add_representer(list, sequence)
    return yaml.dump(
        dict(said), Dumper=Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=10**9
    )


def _fits_a_block(text: str) -> bool:
    """Whether YAML reads it from a block as it is, and no line of it means something to a cell."""
    lines = text.split("\n")
    is_plain = all(line.isprintable() and not _MEANS.fullmatch(line) for line in lines)
    return is_plain and bool(lines[0].strip()) and not text.endswith("\n\n")


_MEANS = re.compile(r"\s*---\s*|\s*#+\s*NBVAL_.*")
