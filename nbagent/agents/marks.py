"""Marks: where the scripts of an agent, and of agents inside it, stand at some moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.models.model import go_to, position

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from nbagent.models.model import Model


class Marks:
    """For each model that replies from a script, where that stands. Other models have none."""

    __slots__ = ("_places",)

    def __init__(self, places: Iterable[tuple[Model, int]] = ()) -> None:
        self._places = {id(model): (model, place) for model, place in places}

    @classmethod
    def of(cls, models: Iterable[Model]) -> Marks:
        """Where these stand now."""
        return cls([(model, position(model)) for model in models if hasattr(model, "position")])

    def go(self) -> None:
        """Sets all the scripts to where they stood."""
        for model, place in self._places.values():
            go_to(model, place)

    def catch_up(self) -> None:
        """Sets those scripts that have not come so far yet."""
        for model, place in self._places.values():
            if position(model) < place:
                go_to(model, place)

    def within(self, others: Marks) -> Marks:
        """Those of scripts that others know, too."""
        return Marks([mark for key, mark in self._places.items() if key in others._places])

    def past(self, others: Marks) -> Marks:
        """Those of scripts that stand where others say, or further."""
        return Marks([mark for key, mark in self._places.items() if self.is_past(others, key)])

    def furthest(self, others: Marks) -> Marks:
        """Of each script that others know, the place that is further."""
        return Marks([self._places[key] if self.is_past(others, key) else one for key, one in others._places.items()])

    def is_past(self, others: Marks, model: int) -> bool:
        """Whether the script with this id stands where others say, or further."""
        here, there = self._places.get(model), others._places.get(model)
        return here is not None and there is not None and here[1] >= there[1]

    def __bool__(self) -> bool:
        return bool(self._places)

    def without(self, model: Model) -> Marks:
        return Marks([mark for key, mark in self._places.items() if key != id(model)])

    def in_others(self, other: Callable[[Model], Model]) -> Marks:
        """The same places in other scripts. Those of a script for which there is no other are left out."""
        marks = [(model, other(model), place) for model, place in self._places.values()]
        return Marks([(new, place) for model, new, place in marks if new is not model])

    def since(self, before: Marks) -> Mapping[int, int]:
        """How far each script that both know has come."""
        both = self._places.keys() & before._places.keys()
        return {key: self._places[key][1] - before._places[key][1] for key in both}

    def moved(self, by: Mapping[int, int]) -> Marks:
        """The same, each so many entries further."""
        return Marks([(model, place + by.get(key, 0)) for key, (model, place) in self._places.items()])
