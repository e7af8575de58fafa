"""The reference: a list of the public names, and entries that static analysis leaves out.

`finsler.mesh.health` is a module and the function in it; static analysis sees only the module, so
the function is asked for by its full name, and links by the shorter ones lead to it. Constants have
no docstring, so each is asked for too.
"""

import inspect
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
    for name in _constants(layer):
        markdown += f"\n::: {layer.__name__}.{name}\n    options:\n"
        markdown += "      show_root_heading: true\n      show_if_no_docstring: true\n"
    return markdown


def _hidden(layer):
    """Public names of a layer that are also modules, of its own or of a package inside it."""
    names = getattr(layer, "__all__", ()) if hasattr(layer, "__path__") else ()
    return [
        name
        for name in names
        if find_spec(f"{layer.__name__}.{name}")
        or str(getattr(getattr(layer, name), "__module__", "")).endswith(f".{name}")
    ]


def _constants(layer):
    """Public names of a layer that are no function, class or module."""
    values = {name: getattr(layer, name) for name in getattr(layer, "__all__", ())}
    kinds = (inspect.isroutine, inspect.isclass, inspect.ismodule)
    documented = {
        name
        for name, value in values.items()
        if hasattr(value, "__wrapped__") or any(kind(value) for kind in kinds)
    }
    return [name for name in values if name not in documented]


def _path(layer, name):
    value = getattr(layer, name)
    if isinstance(value, ModuleType):
        return f"{layer.__name__}.{name}"
    return f"{value.__module__}.{name}"
