"""Which candidates are looked at, and parts that are matched with the model."""

from types import SimpleNamespace

import numpy as np
import pytest

import finsler
from finsler.data import cut, synthetic_collection
from finsler.matching import Verdict, contenders, describe
from finsler.matching.candidates import EFFORTS, candidates
from finsler.matching.points import Refined
from finsler.matching.summaries import principal_features
from finsler.mesh import surface_area


@pytest.fixture(scope="module")
def animals():
    """Two animals, no flaws, and the vertex of each at the points that correspond."""
    made = synthetic_collection("animal", train=2, test=0, poses=2, vertices=1500, seed=5, flaws=0)
    return [made[name] for name in made.train]


@pytest.fixture(scope="module")
def described(animals):
    return [describe(shape.mesh, k=100) for shape in animals]


def test_harder_looks_find_more_and_no_worse_candidates(described):
    features = principal_features(described[0].histograms, described[1].histograms, 64)
    found = [candidates(*described, *features, effort=effort) for effort in EFFORTS]
    assert len(found[0]) <= len(found[1]) and len(found[0]) <= len(found[2])
    best = [ranked[0].energy for ranked in found]
    assert best[2] < best[0] + 0.1 and best[1] < best[0] + 0.1


def test_a_sure_map_of_the_model_ends_the_search(described, monkeypatch):
    seen = []

    def watched(*args, effort, **options):
        seen.append(effort)
        return candidates(*args, effort=effort, **options)

    monkeypatch.setattr(contenders, "candidates", watched)
    found = contenders.contenders(*described)
    assert seen == [0] and found[0].verdict.probability > 0.994
    seen.clear()
    assert len(contenders.contenders(*described, alternatives=1)) >= 1
    assert seen[0] == 1
    monkeypatch.setattr(contenders, "_ALONE", 1.0)
    monkeypatch.setattr(contenders, "_CLEAR", 1.0)
    seen.clear()
    contenders.contenders(*described)
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("model", ["box", "none"])
def test_part_of_an_animal_needs_the_model(animals, model):
    one, other = animals
    part = cut(one.mesh, share=0.5, seed=3)
    number = np.full(one.mesh.n_vertices + 1, -1)
    number[part.vertex_map] = np.arange(len(part.vertex_map))
    here, there = number[one.points], other.points
    known = (here >= 0) & (there >= 0)
    scale = np.sqrt(surface_area(other.mesh) / surface_area(one.mesh))
    scaled = finsler.TriMesh(scale * part.mesh.vertices, part.mesh.faces)
    found = finsler.match(scaled, other.mesh, partial=True, model=model, k=100)
    apart = other.mesh.vertices[found.map_12[here[known]]] - other.mesh.vertices[there[known]]
    error = np.linalg.norm(apart, axis=1).mean() / np.sqrt(surface_area(other.mesh))
    assert (error < 0.06) == (model == "box")


def test_of_two_maps_the_one_that_changes_distances_less_is_better():
    refined = Refined(np.zeros(3, np.int64), np.eye(2), np.zeros(3, np.int64))
    said = [Verdict(change, 0.0, 1.0, features=0.01, elsewhere=0.0) for change in (0.08, 0.02)]
    far, near = (contenders.Contender(refined, each) for each in said)
    weighed = contenders._against_each_other([far, near])
    ratio = 4.0
    assert weighed[0].verdict.rivals == pytest.approx(ratio * near.verdict.odds)
    assert weighed[1].verdict.rivals == pytest.approx(far.verdict.odds / ratio)
    assert weighed[1].verdict.probability > 0.7 > weighed[0].verdict.probability
    surface = SimpleNamespace(mesh=finsler.primitives.sphere(2))
    assert contenders._different([far, near], surface) == [near]
