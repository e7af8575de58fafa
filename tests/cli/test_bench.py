"""`finsler bench`."""

import json
from importlib.util import find_spec

from typer.testing import CliRunner

from finsler.cli.main import app


def test_every_job_is_measured_against_the_first():
    result = CliRunner().invoke(app, ["bench", "--vertices", "300", "--repeats", "1", "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["vertices"] == 252
    jobs = {row["job"]: row for row in found["jobs"]}
    assert "50 eigenpairs" in jobs
    assert ("a layer forward and backward, cpu" in jobs) == bool(find_spec("torch"))
    first = found["jobs"][0]
    assert first["products"] == 1.0
    for row in found["jobs"]:
        assert row["seconds"] > 0.0
        assert abs(row["products"] * first["seconds"] - row["seconds"]) <= 1e-9 * row["seconds"]
