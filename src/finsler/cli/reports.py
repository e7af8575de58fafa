"""How commands write their reports: the record of the run and the command line are added here."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from finsler.view.report import Html

NAME = "report.html"
ENDINGS = (".html",)


def write(
    path: Path, title: str, blocks: Sequence[Html], config: Mapping[str, Any], subtitle: str = ""
) -> Path:
    """Write a page with configuration, versions and the command line."""
    from finsler.storage.record import record
    from finsler.view.report import write_report

    about = json.loads(record(config))
    line = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    return write_report(path, title, blocks, record=about, command=line, subtitle=subtitle)
