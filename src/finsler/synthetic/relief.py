"""Relief of the skin: smooth random lifts of the template, from muscles to edges of garments."""

from __future__ import annotations

import numpy as np

from finsler.mesh.topology import edges
from finsler.synthetic.body import nearest_part
from finsler.synthetic.template import Template
from finsler.typing import FloatArray

# Wavelengths in metres, and the largest lift of each as a share of the thickness of the limb.
_OCTAVES = ((0.4, 0.16), (0.14, 0.07), (0.06, 0.03))
_WAVES = 12
# Share of the variance that left and right have in common.
_SYMMETRY = 0.8
_GARMENT_CHANCE, _GARMENT_LIFT = 0.5, (0.04, 0.24)
# How often the thickness of a limb is averaged with its neighbours'.
_AVERAGES = 40


def sample_relief(template: Template, rng: np.random.Generator) -> FloatArray:
    """Lift (n,) of every vertex of the template along its normal, in metres.

    Smooth random fields of three wavelengths, each by its own strength, times the thickness of the
    limb: a torso is modelled more deeply than a finger. By some chance a garment lies on top, a
    plateau with a soft edge and folds. Left and right are mostly alike.
    """
    points = template.mesh.vertices
    share: FloatArray = np.zeros(len(points))
    for wavelength, most in _OCTAVES:
        share += rng.uniform(0.0, most) * _field(points, wavelength, rng)
    if rng.random() < _GARMENT_CHANCE:
        worn = 1.0 / (1.0 + np.exp(-(_field(points, 0.5, rng) + rng.uniform(-0.5, 0.5)) / 0.08))
        folds = 1.0 + 0.25 * _field(points, 0.08, rng)
        share += rng.uniform(*_GARMENT_LIFT) * worn * folds
    # More would fold concave places.
    return thickness(template) * np.clip(share, -0.3, 0.4)


def thickness(template: Template) -> FloatArray:
    """Radius (n,) of the limb at each vertex of the template, smoothed along the surface."""
    parts = template.species.parts
    radii = np.array([max(part.radii) * min(part.squash) for part in parts])
    values = radii[nearest_part(parts, template.mesh.vertices)]
    ends = edges(template.mesh).vertices
    count = np.bincount(ends.ravel(), minlength=len(values))
    for _ in range(_AVERAGES):
        around = sum(np.bincount(ends[:, i], values[ends[:, 1 - i]], len(values)) for i in (0, 1))
        values = 0.5 * (values + around / count)
    return np.asarray(values)


def _field(points: FloatArray, wavelength: float, rng: np.random.Generator) -> FloatArray:
    """A random field (n,) of variance 1: plane waves of one length in random directions."""
    mirrored = points * [np.nan, 1.0, 1.0]
    mirrored[:, 0] = np.abs(points[:, 0])
    total = np.zeros(len(points))
    for where, variance in ((mirrored, _SYMMETRY), (points, 1.0 - _SYMMETRY)):
        directions = rng.normal(size=(3, _WAVES))
        directions *= 2.0 * np.pi / wavelength / np.linalg.norm(directions, axis=0)
        phases = rng.uniform(0.0, 2.0 * np.pi, _WAVES)
        waves = np.cos(where @ directions + phases).sum(axis=1)
        total += np.sqrt(2.0 * variance / _WAVES) * waves
    return total
