"""The template of a species: a fine mesh of its body at rest that all individuals share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

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

    def posed(self, identity: Mapping[str, float], pose: Mapping[str, float]) -> TriMesh:
        """The template as an individual in a pose, its lowest point at y = 0."""
        individual = build(self.species, identity)
        moving = motion(self.species, individual, pose)
        points = individual.deformed(self.mesh.vertices, self.weights)
        points = moving.skinned(points, self.weights)
        return TriMesh(points - [0.0, points[:, 1].min(), 0.0], self.mesh.faces)


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
