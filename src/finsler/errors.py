"""The two errors a caller may want to catch."""

from __future__ import annotations

__all__ = ["ConvergenceError", "InputError"]


class InputError(ValueError):
    """The input cannot be used; the message is one sentence that says why and what to do.

    The command line prints it and exits with code 2. It stays one line that a terminal shows as it
    is: what is not printable, in the name of a file for example, is written as an escape.
    """

    def __init__(self, sentence: object = "") -> None:
        super().__init__(
            "".join(
                letter if letter.isprintable() else letter.encode("unicode_escape").decode()
                for letter in str(sentence)
            )
        )


class ConvergenceError(RuntimeError):
    """An iteration did not reach its tolerance; the message says how far it came."""
