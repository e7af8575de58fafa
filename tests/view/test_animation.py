import errno
import os

import numpy as np
import pytest

from finsler.errors import InputError
from finsler.view import save_animation


def plain(shade, size=(40, 60)):
    return np.full((*size, 3), shade, dtype=np.uint8)


def test_pictures_come_back_in_order_with_their_pauses(tmp_path):
    image_module = pytest.importorskip("PIL.Image")
    shades = [(200, 30, 30), (30, 200, 30), (30, 30, 200)]
    pictures = [plain(shade) for shade in shades]
    path = save_animation(tmp_path / "a.gif", pictures, pause=50, last_pause=300)
    with image_module.open(path) as movie:
        assert (movie.n_frames, movie.size, movie.info["loop"]) == (3, (60, 40), 0)
        for frame, shade in enumerate(shades):
            movie.seek(frame)
            assert movie.info["duration"] == (300 if frame == 2 else 50)
            assert np.asarray(movie.convert("RGB"))[20, 30].tolist() == list(shade)


def test_labels_are_black_in_the_upper_left_corner(tmp_path):
    image_module = pytest.importorskip("PIL.Image")
    path = save_animation(tmp_path / "a.gif", [plain(255, (60, 200))] * 2, ["t = 1", ""])
    with image_module.open(path) as movie:
        rows, columns = np.nonzero(np.asarray(movie.convert("L")) < 100)
        assert rows.min() >= 10 and rows.max() < 35
        assert columns.min() >= 10 and columns.max() < 80
        movie.seek(1)
        assert (np.asarray(movie.convert("L")) == 255).all()


def test_a_failed_write_leaves_the_old_file_alone(tmp_path, monkeypatch):
    target = tmp_path / "a.gif"
    target.write_bytes(b"old")

    def refuse(*_):
        raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        save_animation(target, [plain(0)])
    assert [path.name for path in tmp_path.iterdir()] == ["a.gif"]
    assert target.read_bytes() == b"old"


@pytest.mark.parametrize(
    ("name", "pictures", "labels", "message"),
    [
        ("a.mp4", [plain(0)], None, "must end in"),
        ("none/a.gif", [plain(0)], None, "does not exist"),
        ("a.gif", [], None, "at least one picture"),
        ("a.gif", [plain(0)], ["a", "b"], "2 labels for 1 pictures"),
        ("a.gif", [plain(0).astype(float)], None, "picture 0 has shape .* uint8"),
        ("a.gif", [plain(0)[:, :, 0]], None, "picture 0 has shape"),
        ("a.gif", [plain(0), plain(0, (40, 61))], None, "draw all in one size"),
    ],
)
def test_bad_animations_are_refused_and_leave_nothing(tmp_path, name, pictures, labels, message):
    with pytest.raises(InputError, match=message):
        save_animation(tmp_path / name, pictures, labels)
    assert list(tmp_path.iterdir()) == []


def test_missing_pillow_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"finsler\[view\]"):
        save_animation(tmp_path / "a.gif", [plain(0)])
