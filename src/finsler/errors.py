"""The two errors a caller may want to catch."""

from __future__ import annotations

__all__ = ["ConvergenceError", "InputError"]


class InputError(ValueError):
    """The input cannot be used; the message is one sentence that says why and what to do.

    The command line prints it and exits with code 2.
    """


class ConvergenceError(RuntimeError):
    """An iteration did not reach its tolerance; the message says how far it came."""
