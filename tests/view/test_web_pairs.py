"""Several maps to choose from, landmarks, and the files that the page writes."""

import json
import threading

import numpy as np
import pytest

from finsler.errors import InputError
from finsler.matching.landmarks import read_landmarks
from finsler.matching.offers import OfferedMap, read_maps
from finsler.mesh import primitives
from finsler.storage.outputs import written_by
from finsler.view.surfaces import position_colors
from finsler.view.web import Outputs, Scene, Settings, Shown, rematch
from finsler.view.web.landmarks import Landmarks
from finsler.view.web.picking import Picked
from finsler.view.web.worker import Worker

MESH = primitives.bumpy_sphere(5)
SAME = np.arange(MESH.n_vertices)
BEST = OfferedMap("best map", {"map_12": SAME, "probability": 0.9})
TURNED = OfferedMap("alternative 1", {"map_12": SAME[::-1].copy(), "map_21": SAME[::-1].copy()})


@pytest.fixture(scope="module")
def scene():
    return Scene(MESH, MESH, maps=(BEST, TURNED))


def test_the_chosen_map_gives_partners_colours_and_lines(scene):
    last = MESH.n_vertices - 1
    assert scene.select(Picked(0, 4)) == (4, 4)
    assert scene.select(Picked(0, 4), chosen=1) == (4, last - 4)
    assert scene.select(Picked(1, 0), chosen=1) == (last, 0)
    colors = position_colors(MESH)
    for chosen, offer in enumerate(scene.maps):
        first, second = scene.panels(Settings(shown=Shown.partners, chosen=chosen))
        assert np.array_equal(first.colors, colors[offer.map_12])
        assert np.array_equal(second.colors, colors)
        ends = scene.lines((7, None), chosen)[0]
        assert np.allclose(ends[1], scene.to_page(1, MESH.vertices[offer.map_12[7]]))


def test_all_maps_are_shown_below_the_pair_side_by_side(scene):
    panels = scene.map_panels()
    colors = position_colors(MESH)
    assert np.array_equal(panels[0].colors, colors)
    assert np.array_equal(panels[1].colors, colors[::-1])
    copies = [scene.to_copy(MESH.vertices, number) for number in (0, 1)]
    pair = np.concatenate([scene.to_page(i, MESH.vertices) for i in (0, 1)])
    direction = np.asarray(scene.layout.camera.direction)
    right = np.cross(scene.layout.camera.up, direction)
    right = right / np.linalg.norm(right)
    up = np.cross(direction, right)
    assert max((copy @ up).max() for copy in copies) < (pair @ up).min()
    assert (copies[0] @ right).max() < (copies[1] @ right).min()
    # The first camera sees the pair, the copies and the words below them.
    frame = scene.layout.frame(2)
    everything = np.concatenate([pair, *copies, [scene.layout.below_copy(1, 2)]]) - frame.center
    assert np.abs(everything @ right).max() <= frame.width + 1e-12
    assert np.abs(everything @ up).max() <= frame.height + 1e-12
    assert np.allclose(scene.layout.frame().center, 0.0)


def test_a_click_on_a_copy_means_its_map(scene):
    for number in (0, 1):
        middle = scene.to_copy(MESH.vertices, number).mean(axis=0)
        direction = np.asarray(scene.layout.camera.direction)
        assert scene.pick_map(middle + 5.0 * direction, -direction) == number
        assert scene.pick(middle + 5.0 * direction, -direction) is None
    assert scene.pick_map((0.0, 50.0, 0.0), (0.0, 1.0, 0.0)) is None


def test_a_new_map_joins_the_others_where_they_are(scene):
    found = OfferedMap("with landmarks", {"map_12": np.roll(SAME, 1)})
    again = OfferedMap("with landmarks", {"map_12": np.roll(SAME, 2)})
    more = scene.with_map(found)
    assert [offer.name for offer in more.maps] == ["best map", "alternative 1", "with landmarks"]
    assert len(scene.maps) == 2 and more.surfaces is scene.surfaces
    assert np.array_equal(more.to_page(1, MESH.vertices), scene.to_page(1, MESH.vertices))
    more = more.with_map(again)
    assert len(more.maps) == 3 and more.maps[2].map_12[0] == MESH.n_vertices - 2
    bare = Scene(MESH, MESH)
    assert Shown.partners not in bare.choices
    assert Shown.partners in bare.with_map(found).choices
    with pytest.raises(InputError, match="the with landmarks names vertices"):
        bare.with_map(OfferedMap("with landmarks", {"map_12": SAME + 1}))


def test_an_alternative_that_does_not_fit_is_refused():
    wrong = OfferedMap("alternative 1", {"map_12": SAME[:-1]})
    with pytest.raises(InputError, match="the alternative 1 holds"):
        Scene(MESH, MESH, maps=(BEST, wrong))


def test_two_clicks_on_two_meshes_are_a_pair():
    marks = Landmarks().clicked(Picked(0, 3)).clicked(Picked(0, 5))
    assert marks == Landmarks((), Picked(0, 5))
    marks = marks.clicked(Picked(1, 8)).clicked(Picked(1, 9))
    assert marks == Landmarks(((5, 8),), Picked(1, 9))
    marks = marks.clicked(Picked(0, 1))
    assert marks.pairs == ((5, 8), (1, 9)) and marks.waiting is None


def test_the_last_click_is_taken_back_first():
    marks = Landmarks(((5, 8), (1, 9)), Picked(0, 2))
    assert marks.without_last() == Landmarks(((5, 8), (1, 9)))
    assert marks.without_last().without_last() == Landmarks(((5, 8),))
    assert Landmarks().without_last() == Landmarks()


def test_known_pairs_reach_the_scene_and_join_the_meshes():
    scene = Scene(MESH, MESH, landmarks=[(3, 4), (7, 9)])
    assert scene.landmarks == ((3, 4), (7, 9))
    first, second = scene.segments(scene.landmarks)[1]
    assert np.allclose(first, scene.to_page(0, MESH.vertices[7]))
    assert np.allclose(second, scene.to_page(1, MESH.vertices[9]))
    assert Scene(MESH).landmarks == ()
    with pytest.raises(InputError, match="landmarks need two meshes"):
        Scene(MESH, landmarks=[(3, 4)])
    with pytest.raises(InputError, match=r"landmark 5000 is not a vertex of mesh 2"):
        Scene(MESH, MESH, landmarks=[(3, 5000)])


def test_a_match_with_landmarks_describes_each_mesh_once(monkeypatch):
    stages, given = [], []
    plain = rematch.match
    monkeypatch.setattr(
        rematch, "match", lambda *a, **o: given.append(o["landmarks"]) or plain(*a, **o)
    )
    scene = Scene(MESH, MESH)
    offer = rematch.match_again(scene.surfaces, ((0, 0), (9, 9)), stages.append)
    described = [surface.described for surface in scene.surfaces]
    assert offer.name == "with landmarks" and offer.arrays["landmarks"].tolist() == [[0, 0], [9, 9]]
    assert np.array_equal(offer.map_12, SAME) and 0.5 < offer.arrays["probability"] <= 1.0
    assert "basis and descriptors of mesh 2" in stages and "verdict" in stages
    assert rematch.match_again(scene.surfaces, (), stages.append).name == "without landmarks"
    assert given[0].tolist() == [[0, 0], [9, 9]] and given[1] is None
    assert all(s.described is known for s, known in zip(scene.surfaces, described, strict=True))


def test_a_kept_map_is_a_file_that_is_read_again(tmp_path):
    outputs = Outputs(tmp_path / "chosen.npz", about={"mesh_1": "a.off"})
    with written_by("view"):
        outputs.keep_map(BEST)
        path = outputs.keep_map(TURNED)
    [read] = read_maps(path)
    assert np.array_equal(read.map_12, SAME[::-1]) and "map_21" in read.arrays
    with np.load(path) as data:
        config = json.loads(str(data["config"]))
    assert config["config"] == {"mesh_1": "a.off", "chosen": "alternative 1"}
    assert config["made_by"] == "finsler view"


def test_a_file_that_came_meanwhile_is_spared(tmp_path):
    outputs = Outputs(tmp_path / "chosen.npz", tmp_path / "pairs.txt")
    for path in (outputs.map, outputs.landmarks):
        path.write_text("0 1 # what a user made")
    with written_by("view"):
        for write in (lambda: outputs.keep_map(BEST), lambda: outputs.save_landmarks([(1, 2)])):
            with pytest.raises(InputError, match="add --overwrite"):
                write()
        assert outputs.landmarks.read_text() == "0 1 # what a user made"
        Outputs(None, outputs.landmarks, overwrite=True).save_landmarks([(1, 2)])
        # Its own file is replaced without a question.
        outputs.save_landmarks([(1, 2), (3, 4)])
    assert read_landmarks(outputs.landmarks).tolist() == [[1, 2], [3, 4]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chosen.npz", "pairs.txt"]


def test_nothing_is_written_where_no_file_was_named():
    with pytest.raises(InputError, match="serve the page with --save"):
        Outputs().keep_map(BEST)
    with pytest.raises(InputError, match="serve the page with --landmarks"):
        Outputs().save_landmarks([(1, 2)])


def test_what_the_worker_writes_carries_the_name_of_the_command(tmp_path):
    outputs = Outputs(tmp_path / "chosen.npz", tmp_path / "pairs.txt")
    with written_by("view"):
        worker = Worker()
    done = threading.Event()
    worker.submit("a", lambda: (outputs.save_landmarks([(1, 2)]), done.set()))
    assert done.wait(20)
    worker.stop()
    assert "made by finsler view" in outputs.landmarks.read_text()
