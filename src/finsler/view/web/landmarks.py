"""Pairs of vertices that a visitor has clicked."""

from __future__ import annotations

from dataclasses import dataclass, replace

from finsler.view.web.picking import Picked

Pair = tuple[int, int]

# The palette of Okabe and Ito, without the purple that is near that of the chosen vertex.
_COLORS = ((213, 94, 0), (0, 158, 115), (0, 114, 178), (230, 159, 0), (86, 180, 233), (0, 0, 0))


@dataclass(frozen=True)
class Landmarks:
    """Pairs of a vertex of A and one of B, and the one whose partner is not clicked yet.

    Examples
    --------
    >>> Landmarks().clicked(Picked(0, 12)).clicked(Picked(1, 340)).pairs
    ((12, 340),)
    """

    pairs: tuple[Pair, ...] = ()
    waiting: Picked | None = None

    def clicked(self, picked: Picked) -> Landmarks:
        """After a click: a pair where its partner waits on the other mesh, else it waits itself."""
        if self.waiting is None or self.waiting.mesh == picked.mesh:
            return replace(self, waiting=picked)
        first, second = sorted((self.waiting, picked), key=lambda each: each.mesh)
        return Landmarks((*self.pairs, (first.vertex, second.vertex)))

    def without_last(self) -> Landmarks:
        """Without what was clicked last: the vertex that waits, or the last pair."""
        return Landmarks(self.pairs if self.waiting is not None else self.pairs[:-1])


def pair_color(number: int) -> tuple[int, int, int]:
    """The colour of a pair, 0..255, in the list as in the picture."""
    return _COLORS[number % len(_COLORS)]
