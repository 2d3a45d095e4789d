"""A guesser that sees which slots change at each fault, and guesses when the page that a fault loads was last written.

It knows the scheme, but no keys, positions or secrets. A page that was written at a fault is in one of the slots that
changed at that fault. Whenever one of these slots changes again, the page may have moved to another slot that changed
with it. So the guesser follows the likely slots from fault to fault. When a fault loads the page, one of its likely
slots is among the slots that change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

# The slots that changed at a fault.
ChangedSlots = frozenset[int]
# The level of a slot on a page's path, or None if the path does not contain the slot.
Level = Callable[[int], int | None]

# A page that moves takes the deepest slot that it may take with this likelihood, else the next one with this likelihood,
# and so on. With this likelihood too a page has stayed above a slot that it could have taken.
MOVE_LIKELIHOOD = 0.5
# The likelihood of moves that these rules exclude.
UNEXPECTED_LIKELIHOOD = 0.01


class Flat:
    """Slots without a tree: any page may be in any slot."""

    def paths(self, _: ChangedSlots) -> Iterator[Level]:
        """Yields the paths on which the page may have been."""
        yield lambda _: 0


class Tree:
    """The slots of a tree, bucket by bucket from the root: a page is on its path from the root to a leaf."""

    def __init__(self, leaf_level: int, bucket_slots: int) -> None:
        self.leaf_level = leaf_level
        self.bucket_slots = bucket_slots

    def paths(self, changed: ChangedSlots) -> Iterator[Level]:
        """Yields the paths on which the page may have been."""
        for leaf in sorted({self._node(slot) for slot in changed if self._node(slot) >> self.leaf_level}):
            yield lambda slot, leaf=leaf: self._level(slot, leaf)

    def _node(self, slot: int) -> int:
        """Returns the number of the slot's bucket: the root is 1, and the children of n are 2 n and 2 n + 1."""
        return slot // self.bucket_slots + 1

    def _level(self, slot: int, leaf: int) -> int | None:
        level = self._node(slot).bit_length() - 1
        return level if leaf >> (self.leaf_level - level) == self._node(slot) else None


Shape = Flat | Tree


def log_likelihood(trace: list[ChangedSlots], shape: Shape, written: int, read: int) -> float:
    """Returns a logarithm that grows with the likelihood that fault `read` loads the page of fault `written`."""
    found = sum(_path_likelihood(trace, level, written, read) for level in shape.paths(trace[read]))
    return math.log(found + UNEXPECTED_LIKELIHOOD)


def _path_likelihood(trace: list[ChangedSlots], level: Level, written: int, read: int) -> float:
    # None stands for the stash.
    places: dict[int | None, float] = {}
    _spread(places, _slots_of_path(trace[written], level), 1.0)
    for slots in trace[written + 1 : read]:
        changed = _slots_of_path(slots, level)
        moved = places.pop(None, 0.0) + sum(places.pop(slot, 0.0) for slot in changed)
        for slot in places:
            if changed and level(slot) < level(changed[0]):
                places[slot] *= MOVE_LIKELIHOOD
        _spread(places, changed, moved)
        whole = sum(places.values())
        places = {slot: likelihood / whole for slot, likelihood in places.items()}
    return sum(likelihood for slot, likelihood in places.items() if slot is None or slot in trace[read])


def _slots_of_path(changed: ChangedSlots, level: Level) -> list[int]:
    """Returns the changed slots of a path, the deepest first."""
    return sorted((slot for slot in changed if level(slot) is not None), key=lambda slot: (-level(slot), slot))


def _spread(places: dict[int | None, float], slots: list[int], moved: float) -> None:
    """Distributes the likelihood of a move over the slots that the page may take, and the rest to the stash."""
    for slot in slots:
        places[slot] = moved * MOVE_LIKELIHOOD
        moved *= 1 - MOVE_LIKELIHOOD
    places[None] = moved


class Question(NamedTuple):
    """Asks whether the page that fault `read` loads was last written at fault `one` or at fault `other`."""

    read: int
    one: int
    other: int


def first_is_likelier(trace: list[ChangedSlots], shape: Shape, questions: Iterable[Question]) -> bool:
    """Returns whether the answer `one` is likelier, for questions that have the same answer."""
    return sum(
        log_likelihood(trace, shape, one, read) - log_likelihood(trace, shape, other, read)
        for read, one, other in questions
    ) > 0
