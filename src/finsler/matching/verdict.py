"""How probable it is that a map as a whole is right, without knowing the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finsler.matching.distances import HeatDistances
from finsler.matching.quality import Matrix, distance_change, orientation_share
from finsler.mesh.arguments import takes_meshes
from finsler.mesh.summary import one_line
from finsler.mesh.trimesh import TriMesh
from finsler.typing import FloatArray, IntArray

# Points nearer than the first length are near, farther apart than the second far, in √area.
NEAR, FAR = 0.15, 0.4
# Values that right maps seldom pass; they are given as reasons.
LARGEST_CHANGE = 0.15
LARGEST_TORN = 0.02
LEAST_ORIENTATION = 0.7
LARGEST_FEATURES = 0.15
LARGEST_ELSEWHERE = 0.05
# Log-odds that a map is right, with a model and without, fitted to maps between synthetic shapes
# (benchmarks/verdict.py):
# constant, change of distances, torn share, share turned over, and the roots of the excess of
# features and of the share elsewhere.
_WEIGHTS = (5.8, -2.0, -10.0, -8.0, -6.7, -5.7), (3.3, -4.1, -62.0, -32.0, 0.0, 0.0)
# Maps less probable than this are doubtful, with a model and without: of right ones between
# synthetic shapes 1 in 80 is, and 1 in 30.
_DOUBTFUL = 0.8, 0.5
# Shares torn beyond this count the same.
_MOST_TORN = 0.1


@one_line("probability", "distance_change", "torn_share", "orientation")
@dataclass(frozen=True)
class Verdict:
    """What is known of a whole map, and how probable it is right.

    Attributes
    ----------
    distance_change : float
        Root mean square of d_1(x, y) − d_2(map x, map y) in √area, of the worse direction.
    torn_share : float
        Share of the pairs of points less than 0.15 √area apart whose images are more than
        0.4 √area apart, of the worse direction.
    orientation : float
        Share of the surface that arrives right side up.
    features : float
        How much farther apart the features of the model are along the map than at best; 1 for a
        random map, NaN where no model was asked.
    elsewhere : float
        Share of the surface that arrives more than 0.3 √area from where the model would send it,
        of the worse direction; NaN where no model was asked.
    rivals : float
        Sum of the odds of the different maps that were compared with this one, each times how much
        more this one changes distances.
    """

    distance_change: float
    torn_share: float
    orientation: float
    features: float = np.nan
    elsewhere: float = np.nan
    rivals: float = 0.0

    @property
    def probability(self) -> float:
        """Of the map being right as a whole: no limbs, sides or ends exchanged.

        With odds o and those of its rivals r, of which at most one is right, o / (1 + o + r).
        """
        return self.odds / (1.0 + self.odds + self.rivals)

    @property
    def odds(self) -> float:
        """How many times more probable it is that the map is right than wrong, by itself."""
        chosen = np.array(_WEIGHTS[0 if np.isfinite(self.features) else 1])
        return float(np.exp(np.clip(chosen @ self.measures, -50.0, 50.0)))

    @property
    def measures(self) -> FloatArray:
        """What the log-odds are a weighted sum of."""
        return np.array(
            [
                1.0,
                self.distance_change,
                min(self.torn_share, _MOST_TORN),
                1.0 - self.orientation,
                *np.sqrt(np.nan_to_num([max(self.features, 0.0), self.elsewhere])),
            ]
        )

    @property
    def doubtful(self) -> bool:
        """Whether the map is less than 80% probable, or 50% where no model was asked."""
        return self.probability < _DOUBTFUL[0 if np.isfinite(self.features) else 1]

    @property
    def reasons(self) -> tuple[str, ...]:
        """What speaks against the map, in words; empty where nothing does."""
        elsewhere = float(np.nan_to_num(self.elsewhere))
        against = {
            f"distances along the surface change by {self.distance_change:.2f} √area (right maps:"
            f" below {LARGEST_CHANGE:g})": self.distance_change > LARGEST_CHANGE,
            f"{100 * self.torn_share:.0f}% of near points arrive far apart (right maps: below"
            f" {100 * LARGEST_TORN:g}%)": self.torn_share > LARGEST_TORN,
            f"only {100 * self.orientation:.0f}% of the surface arrives right side up: left and"
            " right are exchanged, or one mesh is inside out": self.orientation < LEAST_ORIENTATION,
            f"the model would send {elsewhere:.0%} of the surface elsewhere (right maps: below"
            f" {LARGEST_ELSEWHERE:.0%})": elsewhere > LARGEST_ELSEWHERE,
            "the model finds other parts of the body alike": self.features > LARGEST_FEATURES,
            "a different map is better": self.rivals > max(2.0 * self.odds, 1.0),
            "a different map is nearly as good": 2.0 * self.odds
            >= self.rivals
            > 0.25 * max(self.odds, 1.0),
        }
        return tuple(sentence for sentence, holds in against.items() if holds)

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        chance = f"{100 * self.probability:.0f}%"
        if not self.doubtful:
            return (
                f"probably right ({chance}): distances along the surface change by"
                f" {self.distance_change:.2f} √area, {100 * self.torn_share:.0f}% of near points"
                " arrive far apart"
            )
        reasons = self.reasons or ("several measures are unusual at once",)
        return f"doubtful ({chance} probable): " + "; ".join(reasons)


@takes_meshes
def verdict(
    mesh_1: TriMesh,
    mesh_2: TriMesh,
    map_12: IntArray,
    map_21: IntArray,
    *,
    partial: bool = False,
) -> Verdict:
    """Say how probable it is that a map is right: not torn, near an isometry, not turned over.

    Parameters
    ----------
    mesh_1, mesh_2 : TriMesh
        In any unit; each is divided by its √area. Every vertex has a face.
    map_12, map_21 : (n_1,), (n_2,)
        Vertex maps both ways.
    partial : bool
        Mesh 1 is a part of mesh 2, in the same unit: both are divided by the √area of mesh 2,
        map_21 is not looked at, and a distance that shrinks does not count, since the shortest
        path may leave the part.
    """
    return measured_verdict(
        HeatDistances(mesh_1), HeatDistances(mesh_2), map_12, map_21, partial=partial
    )


def measured_verdict(
    one: HeatDistances,
    other: HeatDistances,
    map_12: IntArray,
    map_21: IntArray,
    *,
    partial: bool = False,
) -> Verdict:
    """The same with distances along both surfaces that other maps have asked for before."""
    unit_2 = other.unit
    unit_1 = unit_2 if partial else one.unit
    before, after = _distances(one, other, map_12, unit_1, unit_2)
    ways = [(before, np.maximum(before, after) if partial else after, one.areas)]
    if not partial:
        ways.append((*_distances(other, one, map_21, unit_2, unit_1), other.areas))
    return Verdict(
        max(distance_change(*way) for way in ways),
        max(torn_share(*way) for way in ways),
        orientation_share(one.mesh, other.mesh, map_12),
    )


def _distances(
    source: HeatDistances,
    target: HeatDistances,
    vertex_map: IntArray,
    unit_1: float,
    unit_2: float,
) -> tuple[Matrix, Matrix]:
    """From some vertices to all, (p, n), and between their images, each in its unit."""
    after = target.from_each(vertex_map[source.marks])[:, vertex_map]
    return source.from_marks / unit_1, after / unit_2


def torn_share(before: Matrix, after: Matrix, weights: FloatArray) -> float:
    """Share of the near pairs, by `weights` (n,) of the columns, that are far apart afterwards.

    Examples
    --------
    >>> before = np.array([[0.0, 0.1, 0.1, 0.9]])
    >>> torn_share(before, np.array([[0.0, 0.2, np.inf, 0.9]]), np.ones(4))
    0.5
    """
    near = ((before < NEAR) & (before > 0.0)) * weights
    return float(near[after > FAR].sum() / max(near.sum(), 1e-300))
