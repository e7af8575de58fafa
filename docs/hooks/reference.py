"""The reference: a list of the public names, and entries that a module of the same name hides.

`finsler.mesh.health` is a module and the function in it; static analysis sees the module alone, so
the function is asked for by its full name, and links by the shorter ones lead to it.
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import finsler

MARKER = "<!-- public names -->"


def on_page_markdown(markdown, page, config, **_):
    """Complete the pages of the reference."""
    folder, _, name = page.file.src_uri.removesuffix(".md").rpartition("/")
    if folder != "api":
        return markdown
    if name == "index":
        links = [f"[`{name}`][finsler.{name}]" for name in finsler.__all__]
        return markdown.replace(MARKER, " · ".join(links))
    layer = import_module(markdown.partition("::: ")[2].split()[0])
    for name in _hidden(layer):
        short, path = f"{layer.__name__}.{name}", _path(layer, name)
        markdown += f"\n::: {path}\n    options:\n      show_root_heading: true\n"
        for identifier in {short, f"finsler.{name}"} - {path}:
            config.plugins["autorefs"].register_anchor(page, identifier, path)
    return markdown


def _hidden(layer):
    """Public names of a layer that are also modules in it."""
    names = layer.__all__ if hasattr(layer, "__path__") else ()
    return [name for name in names if find_spec(f"{layer.__name__}.{name}")]


def _path(layer, name):
    path = f"{layer.__name__}.{name}"
    return path if isinstance(getattr(layer, name), ModuleType) else f"{path}.{name}"
