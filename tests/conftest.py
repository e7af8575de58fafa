"""Property tests run the same examples everywhere, and a busy machine is no failure."""

from importlib.util import find_spec

# Accelerator machines run the tests of `nn` without hypothesis.
if find_spec("hypothesis"):
    from hypothesis import settings

    settings.register_profile("steady", deadline=None, derandomize=True)
    settings.load_profile("steady")
