"""Selection: which of the blocks that the providers gave go into the prompt, and why the others do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from nbagent.prompt.context import arguments
from nbagent.prompt.context.block import ContextBlock  # noqa: TC001  msgspec reads the annotations
from nbagent.prompt.context.provider import TOP_K
from nbagent.prompt.context.same import best_first, key
from nbagent.values import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nbagent.prompt.context.answer import Answer


class ContextPolicy(Struct, frozen=True):
    """How blocks are chosen. Raises ConfigError where a number makes no sense."""

    limit: int = TOP_K
    """How many blocks a prompt takes from all providers together; 0 takes none."""
    fair: bool = True
    """Where there are too many: deal the places out, one to each provider in turn, best blocks first. False: the first
    providers take them all."""
    top_k: int = TOP_K
    """How many blocks each provider is asked for; of one that gives more, the best so many count."""

    def __post_init__(self) -> None:
        arguments.count(self.limit, "ContextPolicy: limit", least=0)
        arguments.count(self.top_k, "ContextPolicy: top_k")
        arguments.flag(self.fair, "ContextPolicy: fair")


class Chosen(Struct, frozen=True):
    """A block, and whether it goes into the prompt."""

    number: int
    """Its place among all blocks that were given, counted from 1, in the order of the prompt."""
    label: str
    """Its provider."""
    block: ContextBlock
    kept: bool = True
    reason: str = ""
    """Why it was dropped, where it was."""


DEFAULT = ContextPolicy()
T = TypeVar("T")


def select(answers: Iterable[Answer], policy: ContextPolicy = DEFAULT) -> tuple[Chosen, ...]:
    """Every block that was given, exactly once, kept or dropped with a reason; in the order of the prompt.

    Providers come in the order given, the blocks of each by score, highest first, without a score last. Dropped are:
    blank ones; of a provider that gave more than it was asked for, the rest; the second and later of the same block;
    and what is over the limit. A place that one provider is dealt for a block that another one gave too goes to the
    first of the two, so that no block gets lost for being found twice.
    """
    queues = _queues(answers)
    reasons = {one.number: reason for queue in queues for one, reason in _unfit(queue, policy.top_k)}
    fit = [[one for one in queue if one.number not in reasons] for queue in queues]
    first: dict[tuple[str, ...], Chosen] = {}
    for one in _flat(fit):
        original = first.setdefault(key(one.block), one)
        if original is not one:
            reasons[one.number] = f"the same as block {original.number} ({original.label})"
    places = _deal([[first[key(one.block)].number for one in queue] for queue in fit], fair=policy.fair)[: policy.limit]
    for number in {one.number for one in first.values()}.difference(places):
        reasons[number] = f"over the limit of {policy.limit} block{'s' * (policy.limit != 1)}"
    return tuple(
        Chosen(one.number, one.label, one.block, one.number not in reasons, reasons.get(one.number, ""))
        for one in _flat(queues)
    )


def _queues(answers: Iterable[Answer]) -> list[list[Chosen]]:
    """The blocks of each provider, best first, numbered through."""
    queues: list[list[Chosen]] = []
    number = 0
    for answer in answers:
        queues.append([])
        for block in best_first(answer.blocks):
            number += 1
            queues[-1].append(Chosen(number, answer.label, block))
    return queues


def _unfit(queue: list[Chosen], top_k: int) -> list[tuple[Chosen, str]]:
    """What of a provider's blocks does not even compete, with the reason."""
    blank = [one for one in queue if not one.block.text.strip()]
    more = [one for one in queue if one.block.text.strip()][top_k:]
    return [(one, "empty") for one in blank] + [(one, f"more than the {top_k} asked for") for one in more]


def _deal(queues: Sequence[Sequence[int]], *, fair: bool) -> list[int]:
    """The numbers in the order in which they get places, each once."""
    if not fair:
        return list(dict.fromkeys(_flat(queues)))
    placed: dict[int, None] = {}
    waiting = [iter(queue) for queue in queues]
    while waiting:
        for queue in tuple(waiting):
            number = next((each for each in queue if each not in placed), None)
            if number is None:
                waiting.remove(queue)
            else:
                placed[number] = None
    return list(placed)


def _flat(queues: Iterable[Iterable[T]]) -> list[T]:
    return [one for queue in queues for one in queue]
