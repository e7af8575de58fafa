"""Settings, lists and ground truth as hostile text."""

import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finsler.data.labels import read_barycentric, read_vts
from finsler.errors import InputError
from finsler.mesh import primitives
from finsler.storage.json import parse_json


def refused(action, words):
    with pytest.raises(InputError, match=words) as caught:
        action()
    assert str(caught.value).isprintable() and len(str(caught.value)) < 600


TOML = {
    "deep": (b"a = " + b"[" * 100_000, "nested too deeply"),
    "deep tables": (b"a = " + b"{a = " * 20_000, "nested too deeply"),
    "many digits": (b"epochs = " + b"1" * 10_000, "not a TOML file"),
    "many hexadecimal digits": (b"epochs = 0x" + b"f" * 10_000, "epochs is too long to show"),
    "many in a list": (b"step_epochs = [0x" + b"f" * 10_000 + b"]", "step_epochs is too long"),
    "many for a float": (b"dropout = 0x" + b"f" * 10_000, "dropout is too long to show"),
    "beyond what torch takes": (b"seed = 9223372036854775808", "seed is 9223372036854775808"),
    "nan": (b"dropout = nan", "dropout is nan; it must be a number"),
    "inf": (b"learning_rate = inf", "learning_rate is inf"),
    "a date": (b"epochs = 2024-01-01", "epochs is datetime"),
    "true for one": (b"epochs = true", "epochs is True"),
    "twice": (b"epochs = 1\nepochs = 2", "not a TOML file"),
    "a long name": (b"a" * 500_000 + b" = 1", "there is no setting 'aaa"),
    "a name of escapes": (b'"\\u001b[31m" = 1', r"no setting '\\x1b\[31m'"),
    "a long value": (b'model = "' + b"a" * 5000 + b'"', "must be a short text"),
    "a network without end": (b"layers = 1000000000", "layers is 1000000000; it must be at most"),
    "UTF-16": ("epochs = 1".encode("utf-16"), "not a TOML file"),
    "latin-1": ("model = 'ü'".encode("latin-1"), "not a TOML file"),
    "a NUL byte": (b"epochs = 1\0", "not a TOML file"),
    "a long file": (b"#" * (2**20 + 1), "too long for a configuration"),
}


@pytest.mark.usefixtures("deadline")
@pytest.mark.parametrize("case", TOML)
def test_configurations(tmp_path, case):
    config = pytest.importorskip("finsler.nn.training.config")
    content, words = TOML[case]
    path = tmp_path / "a.toml"
    path.write_bytes(content)
    refused(lambda: config.TrainConfig.load(path), words)


def test_a_byte_order_mark_is_no_harm(tmp_path):
    config = pytest.importorskip("finsler.nn.training.config")
    (tmp_path / "a.toml").write_text("epochs = 7", encoding="utf-8-sig")
    assert config.TrainConfig.load(tmp_path / "a.toml").epochs == 7


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("epochs=" + "1" * 10_000, "epochs is '111"),
        ("epochs", "is no setting"),
        ("x" * 100_000, "is no setting"),
        ("x" * 100_000 + "=1", "there is no setting 'xxx"),
        ("\x1b[31m=1", r"no setting '\\x1b"),
        ("epochs=\0", r"epochs is '\\x00'"),
        ("dropout=1e999", "dropout is inf"),
        ("step_epochs=1,,x", "step_epochs is '1,,x'"),
        ("model=a\nb", r"model"),
    ],
)
@pytest.mark.usefixtures("deadline")
def test_settings_of_the_command_line(setting, words):
    config = pytest.importorskip("finsler.nn.training.config")
    models = pytest.importorskip("finsler.nn.training.models")

    def build():
        models.model_named(config.TrainConfig().override([setting]).model)

    refused(build, words)


@pytest.mark.usefixtures("deadline")
def test_what_is_no_plain_file_is_refused_at_once(tmp_path):
    checkpoint = pytest.importorskip("finsler.nn.training.checkpoint")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    readers = (
        checkpoint.TrainConfig.load,
        checkpoint.Checkpoint.read,
        lambda path: read_vts(path, 3),
        lambda path: read_barycentric(path, primitives.plane(1, 1)),
    )
    for name in ("fifo", "device", "loop", "a\0b"):
        for read in readers:
            with pytest.raises(InputError, match="no such file"):
                read(tmp_path / name)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"1\n9999999999999999999999\n", "line 2: '9999999999999999999999' is not a vertex"),
        (b"1\n2_0\n", "line 2: '2_0' is not"),
        (b"1\n\x1b[31m\n", r"line 2: '\\x1b\[31m' is not"),
        (b"1\n\n2\n", "line 2: a blank line"),
        (b"1\r\n2\0\r\n", r"line 2: '2\\x00'"),
        ("1\n2\n".encode("utf-16"), "line 1"),
        (b"\xef\xbb\xbf1\n", "line 1"),
        ("1\n٣\n".encode(), "line 2"),
        (b"1\n0x1\n", "line 2"),
        (b"9\n", "names vertex 9, but the mesh has 4"),
        (b" \n\n", "empty"),
    ],
)
def test_lists_of_vertices(tmp_path, content, words):
    path = tmp_path / "a.vts"
    path.write_bytes(content)
    refused(lambda: read_vts(path, 4), words)


@pytest.mark.parametrize("face", [b"1e300", b"-1e300", b"9007199254740993", b"nan", b"inf", b"1.5"])
def test_faces_that_are_no_numbers_of_faces(tmp_path, face):
    path = tmp_path / "a.baryc_gt"
    path.write_bytes(face + b" 0.2 0.3 0.5\n")
    refused(lambda: read_barycentric(path, primitives.plane(1, 1)), "line 1")


@given(st.lists(st.integers(1, 4), min_size=1))
@settings(max_examples=30)
def test_lists_of_vertices_survive(tmp_path_factory, numbers):
    path = tmp_path_factory.mktemp("lists") / "a.vts"
    path.write_text("".join(f"{number}\n" for number in numbers))
    np.testing.assert_array_equal(read_vts(path, 4), np.array(numbers) - 1)


_PLAIN = st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@given(st.dictionaries(st.text(), _PLAIN | st.lists(_PLAIN, max_size=3), max_size=5))
@settings(max_examples=30)
def test_json_reads_back(found):
    assert parse_json(json.dumps(found)) == found


@given(st.binary() | st.text())
def test_any_text_is_an_object_or_one_sentence(text):
    try:
        assert isinstance(parse_json(text), dict)
    except InputError as error:
        assert str(error).isprintable() and len(str(error)) < 200  # noqa: PT017
