"""The version, from the last tag; everything else is in pyproject.toml."""

from setuptools import setup

# What a clone without tags and a folder without git are on the way to.
NEXT = "0.2.0"


def scheme(version):
    """`1.2.0` at the tag v1.2.0, `1.2.1.dev3` three commits later, `NEXT.dev3` without a tag."""
    if str(version.tag) == "0.0":
        return f"{NEXT}.dev{version.distance or 0}"
    from setuptools_scm.version import guess_next_dev_version

    return guess_next_dev_version(version)


setup(use_scm_version={"version_scheme": scheme, "fallback_version": f"{NEXT}.dev0"})
