"""A guesser who sees which slots change at each fault, and guesses when the page that a fault brings in was last written.

It knows the scheme, and nothing of keys, positions or secrets. A page that was written at a fault lies in one of the slots
that changed at it. Whenever one of these changes again, the page may have moved to another that changed with it. So its
likely places are followed from fault to fault. If it is brought in later, one of the likely places is among those that
change then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

# The slots that changed at a fault.
ChangedSlots = frozenset[int]
# The level at which a slot lies on a page's way, or nothing if the page cannot lie there.
Level = Callable[[int], int | None]

# A page that moves goes into the deepest slot that it may go into, or else into the next one, and so on: each time with
# this likelihood. And so likely has it stayed above a slot into which it could have gone.
MOVE_LIKELIHOOD = 0.5
# The likelihood of what the rules above do not foresee.
UNEXPECTED_LIKELIHOOD = 0.01


class Flat:
    """Slots that lie beside each other: any page may lie in any of them."""

    def paths(self, _: ChangedSlots) -> Iterator[Level]:
        """The ways on which the page may have come."""
        yield lambda _: 0


class Tree:
    """The slots of a tree, bucket by bucket from the root on: a page lies on its way from the root to a leaf."""

    def __init__(self, leaf_level: int, bucket_slots: int) -> None:
        self.leaf_level = leaf_level
        self.bucket_slots = bucket_slots

    def paths(self, changed: ChangedSlots) -> Iterator[Level]:
        """The ways on which the page may have come."""
        for leaf in sorted({self._node(slot) for slot in changed if self._node(slot) >> self.leaf_level}):
            yield lambda slot, leaf=leaf: self._level(slot, leaf)

    def _node(self, slot: int) -> int:
        """The number of the slot's bucket; the root is 1, and the children of n are 2 n and 2 n + 1."""
        return slot // self.bucket_slots + 1

    def _level(self, slot: int, leaf: int) -> int | None:
        level = self._node(slot).bit_length() - 1
        return level if leaf >> (self.leaf_level - level) == self._node(slot) else None


Shape = Flat | Tree


def log_likelihood(seen: list[ChangedSlots], shape: Shape, written: int, read: int) -> float:
    """The logarithm of a number that is greater the more likely the page written at one fault came in at the other."""
    found = sum(_path_likelihood(seen, level, written, read) for level in shape.paths(seen[read]))
    return math.log(found + UNEXPECTED_LIKELIHOOD)


def _path_likelihood(seen: list[ChangedSlots], level: Level, written: int, read: int) -> float:
    # The stash is no slot, and is called None.
    places: dict[int | None, float] = {}
    _spread(places, _slots_of_path(seen[written], level), 1.0)
    for slots in seen[written + 1 : read]:
        changed = _slots_of_path(slots, level)
        moved = places.pop(None, 0.0) + sum(places.pop(slot, 0.0) for slot in changed)
        for slot in places:
            if changed and level(slot) < level(changed[0]):
                places[slot] *= MOVE_LIKELIHOOD
        _spread(places, changed, moved)
        whole = sum(places.values())
        places = {slot: likelihood / whole for slot, likelihood in places.items()}
    return sum(likelihood for slot, likelihood in places.items() if slot is None or slot in seen[read])


def _slots_of_path(changed: ChangedSlots, level: Level) -> list[int]:
    """The slots of a way that changed, the deepest first."""
    return sorted((slot for slot in changed if level(slot) is not None), key=lambda slot: (-level(slot), slot))


def _spread(places: dict[int | None, float], slots: list[int], moved: float) -> None:
    """Puts the likelihood that a page has moved into slots that it may have moved to, and the rest into the stash."""
    for slot in slots:
        places[slot] = moved * MOVE_LIKELIHOOD
        moved *= 1 - MOVE_LIKELIHOOD
    places[None] = moved


class Question(NamedTuple):
    """A page comes in: it was written last at the one fault, or at the other."""

    read: int
    one: int
    other: int


def first_is_likelier(seen: list[ChangedSlots], shape: Shape, questions: Iterable[Question]) -> bool:
    """Tells whether the first answer is the likelier one to questions that have the same answer."""
    weights = (log_likelihood(seen, shape, one, read) - log_likelihood(seen, shape, other, read) for read, one, other in questions)
    return sum(weights) > 0
