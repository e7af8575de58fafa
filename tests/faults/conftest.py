"""One undisturbed run of every command, which the disturbed ones are compared with."""

import pytest
from compared import undisturbed


@pytest.fixture(scope="session")
def calm(tmp_path_factory):
    return undisturbed(tmp_path_factory.mktemp("calm"))
