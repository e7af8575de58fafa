"""A spinner on stderr while a command works; it says so where a first use compiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

FIRST_USE = "compiling, in the first run only"


@contextmanager
def working(on: str) -> Iterator[None]:
    """A spinner on stderr while the block runs; nothing where stderr is not a terminal."""
    with _spinning(on):
        yield


@contextmanager
def stages(title: str) -> Iterator[Callable[[str], None]]:
    """Shows the name of a stage on a spinner; nothing where stderr is not a terminal."""
    with _spinning(title) as show:
        yield lambda stage: show(f"{title}: {stage}")


@contextmanager
def _spinning(title: str) -> Iterator[Callable[[str], None]]:
    """Show a title, and beside it that loops are compiled, from then until the next title."""
    from numba.core.event import Event, Listener, install_listener

    class Compilation(Listener):
        """Is told of functions that are compiled, not of those that are read from the cache."""

        def on_start(self, event: Event) -> None:
            status.update(Text(f"{title} ({FIRST_USE})"))

        def on_end(self, event: Event) -> None:
            pass

    def show(following: str) -> None:
        nonlocal title
        title = following
        status.update(Text(title))

    with (
        Console(stderr=True).status(Text(title)) as status,
        install_listener("numba:compile", Compilation()),
    ):
        yield show
