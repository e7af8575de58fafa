"""Articulated creatures: skeletons, bodies, skinning and remeshing."""

from finsler.synthetic.relief import sample_relief
from finsler.synthetic.remesh import Remeshed, remesh
from finsler.synthetic.sampling import sample_identity, sample_pose
from finsler.synthetic.species import SPECIES, species_named
from finsler.synthetic.template import Template, template
from finsler.synthetic.triangulation import TRIANGULATIONS, triangulate

__all__ = [
    "SPECIES",
    "TRIANGULATIONS",
    "Remeshed",
    "Template",
    "remesh",
    "sample_identity",
    "sample_pose",
    "sample_relief",
    "species_named",
    "template",
    "triangulate",
]
