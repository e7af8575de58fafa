"""One target under atheris: `python fuzz/child.py NAME CORPUS FOLDER [options of libFuzzer]`."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import atheris

# numba compiles these from their bytecode, which must stay as it is.
_COMPILED = [
    ".".join(path.relative_to(Path(__file__).parents[1] / "src").with_suffix("").parts)
    for path in (Path(__file__).parents[1] / "src").rglob("_compiled*.py")
]
# Address space that a reader may ask for beyond what is mapped when it starts.
_HEADROOM = 2 * 2**30


def main() -> None:
    """Fuzz until the time is spent or something is found."""
    name, corpus, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    sys.path.insert(0, str(Path(__file__).parent))
    with atheris.instrument_imports(
        include=["finsler", "tomllib", "zipfile"], exclude=_COMPILED, enable_loader_override=False
    ):
        from targets import TARGETS, outcome

        target = TARGETS[name]
        for i, seed in enumerate(target.seeds(folder)):
            (corpus / f"seed_{i}").write_bytes(seed)
            outcome(target, seed, folder)
    _limit_memory()
    atheris.Setup(
        [sys.argv[0], *sys.argv[4:], str(corpus)], lambda data: outcome(target, data, folder)
    )
    atheris.Fuzz()


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + _HEADROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    main()
