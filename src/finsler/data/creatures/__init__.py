"""Articulated creatures: skeletons, bodies, skinning and remeshing."""

from finsler.data.creatures.remesh import Remeshed, remesh
from finsler.data.creatures.sampling import sample_identity, sample_pose
from finsler.data.creatures.species import SPECIES, species_named
from finsler.data.creatures.template import Template, template

__all__ = [
    "SPECIES",
    "Remeshed",
    "Template",
    "remesh",
    "sample_identity",
    "sample_pose",
    "species_named",
    "template",
]
