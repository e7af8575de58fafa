"""JSON that was received: one object, read strictly."""

from __future__ import annotations

import json
import math
from typing import Any

from finsler.errors import InputError


def parse_json(text: str | bytes) -> dict[str, Any]:
    """Parse an object; a name that stands twice, NaN and infinity are refused.

    Raises
    ------
    InputError
        A sentence without the path.
    """
    try:
        parsed = json.loads(
            text, object_pairs_hook=_object, parse_constant=_number, parse_float=_number
        )
    except RecursionError as error:
        raise InputError("this is not a JSON text (nested too deeply)") from error
    except ValueError as error:
        raise InputError(f"this is not a JSON text ({str(error)[:80]})") from error
    if not isinstance(parsed, dict):
        raise InputError("this must be a JSON object")
    return parsed


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    parsed = dict(pairs)
    if len(parsed) != len(pairs):
        raise ValueError("a name stands twice")
    return parsed


def _number(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError(f"{text[:20]} is not JSON")
    return float(text)
