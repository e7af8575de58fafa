"""Articulated creatures: skeletons, bodies, skinning and remeshing."""

from finsler.synthetic.remesh import Remeshed, remesh
from finsler.synthetic.sampling import sample_identity, sample_pose
from finsler.synthetic.species import SPECIES, species_named
from finsler.synthetic.template import Template, template

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
