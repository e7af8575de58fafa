"""The parts of a page: text, tables and facts, with everything that a user named escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NewType

# Text that may stand in a page as it is. Only functions of this package make it.
Html = NewType("Html", str)

_RULE = re.compile(r":?-+:?")


def escaped(text: object) -> Html:
    """Text that shows itself, whatever it holds."""
    return Html(html.escape(str(text), quote=True))


def joined(blocks: Sequence[Html]) -> Html:
    """Blocks one after the other."""
    return Html("\n".join(blocks))


def section(title: str, *blocks: Html) -> Html:
    """A heading with what stands below it."""
    return Html(f"<section>\n<h2>{escaped(title)}</h2>\n{joined(blocks)}\n</section>")


def paragraph(text: str) -> Html:
    """A paragraph; what stands between backticks is set as code."""
    return Html(f"<p>{_inline(text)}</p>")


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Html:
    """A table whose first column is text and whose others are figures, aligned to the right."""
    head = "".join(f'<th scope="col">{_inline(cell)}</th>' for cell in headings)
    lines = [f"<thead><tr>{head}</tr></thead>", "<tbody>"]
    for first, *others in rows:
        cells = "".join(f"<td>{_inline(cell)}</td>" for cell in others)
        lines.append(f'<tr><th scope="row">{_inline(first)}</th>{cells}</tr>')
    inside = "\n".join([*lines, "</tbody>"])
    return Html(f'<div class="wide"><table>\n{inside}\n</table></div>')


def facts(values: Mapping[str, Any]) -> Html:
    """Names with their values; a mapping inside gives names with dots."""
    rows = "".join(
        f"<div><dt>{escaped(name)}</dt><dd>{escaped(value)}</dd></div>\n"
        for name, value in _flat(values)
    )
    return Html(f"<dl>\n{rows}</dl>")


def folded(title: str, *blocks: Html) -> Html:
    """What is seen only when asked for; printed in any case."""
    return Html(f"<details><summary>{escaped(title)}</summary>\n{joined(blocks)}\n</details>")


def markdown(text: str) -> Html:
    """The Markdown that this package writes: headings, paragraphs, lists, tables, code.

    A heading of the first level is left out, as a page has its own title.
    """
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = block.strip().splitlines()
        while lines and lines[0].startswith("#"):
            level, _, words = lines.pop(0).partition(" ")
            blocks += [Html(f"<h2>{_inline(words)}</h2>")] if level == "##" else []
        if lines:
            blocks.append(_markdown_block(lines))
    return joined(blocks)


def _markdown_block(lines: Sequence[str]) -> Html:
    if all(line.startswith("|") for line in lines):
        headings, *rows = (_cells(line) for line in lines)
        return table(headings, [row for row in rows if not all(map(_RULE.fullmatch, row))])
    if all(line.startswith("- ") for line in lines):
        return Html("<ul>" + "".join(f"<li>{_inline(line[2:])}</li>" for line in lines) + "</ul>")
    return paragraph(" ".join(lines))


def _cells(line: str) -> list[str]:
    """Of a row; a bar that belongs to the text has a backslash before it."""
    inside = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inside)]


def _inline(text: str) -> Html:
    return Html(re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped(text)))


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", _text(value)


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(_text(item) for item in value)
    return str(value)
