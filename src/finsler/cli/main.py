"""The `finsler` command: its subcommands, loaded when they run, and errors as one sentence."""

from __future__ import annotations

import codecs
import io
import os
import signal
import sys
import warnings
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from finsler.errors import ConvergenceError, InputError
from finsler.storage.outputs import written_by

# Exit codes of what Ctrl-C or `kill` ended.
_STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)
# What learning needs, and not everyone has.
_LEARNING = ("torch", "safetensors", "tensorboard")

# For outputs that are not UTF-8.
_SPELLED = str.maketrans(
    {"×": "x", "√": "sqrt ", "…": "...", "θ": "theta", "ω": "omega", "°": " degrees", "→": "->"}
    | {"–": "-", "−": "-", "²": "^2", "φ": "phi", "λ": "lambda", "π": "pi", "Σ": "sum", "⁻": "^-"}
    | {"¹": "1", "α": "alpha", "τ": "tau", "│": "|", "─": "-", "±": "+-", "≥": ">=", "≤": "<="}
)

# Each name is that of a module of `finsler.cli` and of the command in it.
COMMANDS = {
    "info": "Report the size, topology and defects of a mesh, and repair it if asked.",
    "operator": "Write the operators of a mesh at several angles: by default"
    " Finsler-Laplace-Beltrami.",
    "spectrum": "Compute the smallest eigenvalues and eigenfunctions of a Laplacian.",
    "kernel": "Compute the convolution kernel of a filter at a vertex, for several angles.",
    "heat": "Put heat on vertices and let it spread.",
    "distance": "Measure distances in which there and back may differ, and trace shortest paths.",
    "describe": "Describe each vertex of a mesh, or of many, by a row of numbers.",
    "prepare": "Compute operators, descriptors and labels for every shape of a collection.",
    "train": "Train a network that names, for each vertex, the corresponding vertex of the"
    " reference.",
    "maps": "Match every two shapes of a store, both ways, and measure the maps where the truth is"
    " known.",
    "evaluate": "Score predicted correspondences by the Princeton protocol.",
    "benchmark": "Measure a method on the pairs of a collection, as published tables do and more"
    " strictly.",
    "reproduce": "Make a table of the paper: prepare, train every method with every seed, and"
    " evaluate.",
    "match": "Find which vertex of one mesh corresponds to which of another, without training.",
    "view": "Show one or two meshes in the browser.",
    "demo": "Operators, spectra and distances on one shape, then correspondences learned from"
    " many.",
    "data": "Check and pack data sets, and make partial and synthetic ones.",
}


def load_command(name: str) -> TyperCommand | TyperGroup:
    """A subcommand with its options; imports its module."""
    command = getattr(import_module(f"finsler.cli.{name}"), name)
    if not isinstance(command, typer.Typer):
        holder = typer.Typer(rich_markup_mode="markdown", add_completion=False)
        holder.command(name)(command)
        command = holder
    loaded = typer.main.get_command(command)
    assert isinstance(loaded, TyperCommand | TyperGroup)
    return loaded


class _LazyGroup(TyperGroup):
    """Lists `COMMANDS` without loading them; the module of a command is imported when it runs."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, line in COMMANDS.items():
            self.commands[name] = TyperCommand(name, help=line)

    def resolve_command(
        self, ctx: Any, args: list[str]
    ) -> tuple[str | None, TyperCommand | TyperGroup | None, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        if name is None:
            return None, None, rest
        ctx.with_resource(written_by(name))
        return name, load_command(name), rest


app = typer.Typer(
    name="finsler",
    cls=_LazyGroup,
    help="Anisotropic and Finsler Laplacians on triangle meshes.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from finsler import __version__

        print(f"finsler {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Anisotropic and Finsler Laplacians on triangle meshes."""


def main() -> None:
    """Run the command; bad input ends with one sentence on stderr and exit code 2."""
    warnings.formatwarning = lambda message, *_, **__: f"note: {message}\n"
    # Nothing here opens a window, so what is said about windows must not matter.
    os.environ["MPLBACKEND"] = "agg"
    _accept_all_characters()
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        app()
    except KeyboardInterrupt:
        _stop(128 + signal.SIGINT)
    except SystemExit as end:
        _stop(end.code)
    except (InputError, ConvergenceError) as error:
        _fail(str(error))
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package not in _LEARNING:
            raise
        _fail(f"this needs {package}; pip install 'finsler[learn]'")
    except MemoryError:
        _fail(
            "there is not enough memory for this; take a smaller mesh, fewer values or eigenpairs,"
            " or a machine with more"
        )
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _accept_all_characters() -> None:
    """Let every text be printed, whatever the encoding of the output and the bytes of a name."""
    codecs.register_error("spelled", _spell)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="spelled")


def _spell(error: UnicodeError) -> tuple[str, int]:
    """Characters that an output does not have, in those that all have."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end].translate(_SPELLED)
    return text.encode("ascii", "backslashreplace").decode(), error.end


def _terminated(number: int, _frame: object) -> NoReturn:
    sys.exit(128 + number)


def _stop(code: str | int | None) -> NoReturn:
    if code in _STOPPED:
        print("stopped: what is written is whole; run the same command again", file=sys.stderr)
    sys.exit(code)


def _fail(sentence: str) -> None:
    print("error:", " ".join(sentence.split()), file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
