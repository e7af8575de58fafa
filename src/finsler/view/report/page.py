"""One file that holds a whole page: text, curves, surfaces, their script and their style."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from finsler.errors import InputError
from finsler.storage.files import write_bytes
from finsler.storage.outputs import mark
from finsler.view.report.blocks import Html, escaped, facts, joined, paragraph, section


def write_report(
    path: str | os.PathLike[str],
    title: str,
    blocks: Sequence[Html],
    *,
    record: Mapping[str, Any],
    command: str | None = None,
    subtitle: str = "",
) -> Path:
    """Write a page that needs no network, server or other file, and return its path.

    Its policy forbids every request, and every script and style but those of this package, which
    are named by their hashes.

    Parameters
    ----------
    path : str or Path
        Ends in .html; replaced only once the new file is complete.
    title, subtitle : str
        Plain text.
    blocks : sequence of Html
        What the page shows, from the top.
    record : mapping
        `config`, `versions` and `machine`, as [`record`][finsler.storage.record.record] gives them.
    command : str, optional
        The command line that led here.

    Raises
    ------
    InputError
        Another ending, or no such folder.
    """
    target = Path(path)
    if target.suffix.lower() != ".html":
        raise InputError(f"{target} must end in .html")
    body = joined(
        [
            Html(f"<header><h1>{escaped(title)}</h1>"),
            *([paragraph(subtitle)] if subtitle else []),
            Html("</header>"),
            *blocks,
            _origin(record, command),
        ]
    )
    return write_bytes(target, full_page(title, body).encode(errors="backslashreplace"))


def _origin(record: Mapping[str, Any], command: str | None) -> Html:
    """How this was made."""
    line = [] if command is None else [Html(f"<pre>{escaped(command)}</pre>")]
    origin = {"versions": record["versions"], "machine": record["machine"]}
    titled = [
        Html(f"<h3>{escaped(name.capitalize())}</h3>\n{facts(values)}")
        for name, values in {"configuration": record["config"], **origin}.items()
    ]
    return section("How this was made", *line, *titled)


def full_page(title: str, body: Html) -> str:
    """A page that needs nothing else, with its style and, where it has a scene, its script."""
    style, script = _asset("page.css"), _asset("viewer.js")
    needed = 'class="scene"' in body
    scripts = f"'{_hash(script)}'" if needed else "'none'"
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src '{_hash(style)}';"
        " base-uri 'none'; form-action 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="{mark() or "finsler"}">
<title>{escaped(title)}</title>
<style>{style}</style>
</head>
<body>
{body}
{f"<script>{script}</script>" if needed else ""}
</body>
</html>
"""


@cache
def _asset(name: str) -> str:
    return (files("finsler.view.report") / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
