"""Values of settings: checked against their types, read from texts, written as TOML."""

from __future__ import annotations

import json
import math
from typing import Any

from finsler.errors import InputError

LONGEST_TEXT = 100
_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a short text"}


def typed(name: str, value: Any, wanted: Any) -> Any:
    """The value, or for a float its whole number as one; anything else is refused."""
    if wanted not in _WORDS:
        if isinstance(value, (list, tuple)) and all(map(_is_whole, value)):
            return tuple(value)
        raise InputError(f"{name} is {shown(value)}; it must be a list of whole numbers")
    if wanted is float and (_is_whole(value) or (type(value) is float and math.isfinite(value))):
        return float(value)
    if wanted is int and _is_whole(value):
        return value
    if wanted is bool and type(value) is bool:
        return value
    if wanted is str and type(value) is str and len(value) <= LONGEST_TEXT:
        return value
    raise InputError(f"{name} is {shown(value)}; it must be {_WORDS[wanted]}")


def _is_whole(value: object) -> bool:
    return type(value) is int and abs(value) < 2**63


def shown(value: object) -> str:
    """A value in an error: of any length in the file, short in the sentence."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write very long whole numbers
        return "too long to show"
    return text if len(text) <= 60 else f"{text[:60]}…"


def parsed(name: str, text: str, wanted: Any) -> Any:
    """The value of a text."""
    try:
        if wanted is bool:
            return {"true": True, "false": False}[text.lower()]
        if wanted in (int, float, str):
            return wanted(text)
        if text.startswith("[") != text.endswith("]"):
            raise ValueError("a bracket without its other half")
        items = text.removeprefix("[").removesuffix("]").strip()
        return tuple(int(item) for item in items.split(",")) if items else ()
    except (ValueError, KeyError) as error:
        words = _WORDS.get(wanted, "a list of whole numbers, e.g. 50,80")
        raise InputError(f"{name} is {shown(text)}; it must be {words}") from error


def toml(value: Any) -> str:
    """A value as TOML."""
    # JSON writes these types as TOML does, but for the exponents of floats, which TOML reads too.
    return json.dumps(list(value) if isinstance(value, tuple) else value)
