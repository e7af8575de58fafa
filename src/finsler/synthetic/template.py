"""The template of a species: a fine mesh of its body at rest that all individuals share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from finsler.mesh.measures import vertex_normals
from finsler.mesh.summary import one_line
from finsler.mesh.trimesh import TriMesh
from finsler.synthetic.body import onto_surface, polygonise
from finsler.synthetic.remesh import remesh
from finsler.synthetic.skeleton import Species
from finsler.synthetic.skinning import build, motion, skinning_weights
from finsler.synthetic.species import species_named
from finsler.typing import FloatArray


@one_line("mesh", "weights")
@dataclass(frozen=True, eq=False)
class Template:
    """A species at rest.

    Attributes
    ----------
    species : Species
    mesh : TriMesh
        Limbs are held away from each other and from the body.
    weights : (n, bones)
        Skinning weights.
    """

    species: Species
    mesh: TriMesh
    weights: FloatArray

    @cached_property
    def normals(self) -> FloatArray:
        """Unit normals (n, 3) of the vertices."""
        return vertex_normals(self.mesh)

    def posed(
        self,
        identity: Mapping[str, float],
        pose: Mapping[str, float],
        relief: FloatArray | None = None,
    ) -> TriMesh:
        """The template as an individual in a pose, its lowest point at y = 0.

        `relief` (n,) lifts each vertex along its normal before it is stretched and posed, in
        metres; traits that swell the skin add to it.
        """
        individual = build(self.species, identity)
        moving = motion(self.species, individual, pose)
        lift = self._swelling(identity) + (0.0 if relief is None else relief)
        rest = self.mesh.vertices + lift[:, None] * self.normals if lift.any() else None
        points = individual.deformed(self.mesh.vertices if rest is None else rest, self.weights)
        points = moving.skinned(points, self.weights)
        return TriMesh(points - [0.0, points[:, 1].min(), 0.0], self.mesh.faces)

    def _swelling(self, identity: Mapping[str, float]) -> FloatArray:
        """Lift (n,) of the skin, Σ (factor − 1) r exp(−|x − c|² / r²) over the swelling points."""
        lift = np.zeros(self.mesh.n_vertices)
        for trait in self.species.traits:
            for centre, reach in trait.swell if identity.get(trait.name, 1.0) != 1.0 else ():
                square = ((self.mesh.vertices - np.asarray(centre)) ** 2).sum(axis=1)
                lift += (identity[trait.name] - 1.0) * reach * np.exp(-square / reach**2)
        return lift


@cache
def template(species: str) -> Template:
    """The template of a species; takes a few seconds, once a process.

    The body is polygonised, remeshed evenly, and its vertices put onto the implicit surface.
    """
    kind = species_named(species)
    rough = polygonise(kind.parts, kind.spacing)
    even = remesh(rough, kind.template_vertices, np.random.default_rng(0)).mesh
    mesh = TriMesh(onto_surface(kind.parts, even.vertices), even.faces)
    return Template(kind, mesh, skinning_weights(kind, mesh))
