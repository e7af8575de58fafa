"""The `finsler` command: one line for each subcommand, and errors as one sentence.

Subcommands import what they compute with only when they run, so that `finsler --help` is quick.
"""

from __future__ import annotations

import signal
import sys
import warnings
from typing import Annotated, NoReturn

import typer

from finsler import __version__
from finsler.cli.bench import bench
from finsler.cli.data import data
from finsler.cli.demo import demo
from finsler.cli.describe import describe
from finsler.cli.distance import distance
from finsler.cli.evaluate import evaluate
from finsler.cli.heat import heat
from finsler.cli.info import info
from finsler.cli.kernel import kernel
from finsler.cli.match import match
from finsler.cli.operator import operator
from finsler.cli.prepare import prepare
from finsler.cli.reproduce import reproduce
from finsler.cli.spectrum import spectrum
from finsler.cli.train import train
from finsler.cli.view import view
from finsler.errors import ConvergenceError, InputError

# Exit codes of what Ctrl-C or `kill` ended.
_STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)
# What learning needs, and not everyone has.
_LEARNING = ("torch", "safetensors", "tensorboard")

app = typer.Typer(
    name="finsler",
    help="Anisotropic and Finsler Laplacians on triangle meshes.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command("info")(info)
app.command("operator")(operator)
app.command("spectrum")(spectrum)
app.command("kernel")(kernel)
app.command("heat")(heat)
app.command("distance")(distance)
app.command("describe")(describe)
app.command("prepare")(prepare)
app.command("train")(train)
app.command("evaluate")(evaluate)
app.command("reproduce")(reproduce)
app.command("match")(match)
app.command("view")(view)
app.command("bench")(bench)
app.command("demo")(demo)
app.add_typer(data)


def _print_version(wanted: bool) -> None:
    if wanted:
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
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


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
