"""Keys: hashes of everything that a result depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def content_key(about: Mapping[str, Any], arrays: Iterable[NDArray[Any]] = ()) -> str:
    """SHA-256 of a configuration and of arrays: of their shapes, types and bytes, in this order.

    Stores and folders of results keep these keys, so what is hashed here must not change.

    Examples
    --------
    >>> key = content_key({"alpha": 10.0, "tau": 0.1}, [np.arange(3)])
    >>> key == content_key({"tau": 0.1, "alpha": 10.0}, [np.arange(3)])
    True
    >>> key == content_key({"alpha": 10.0, "tau": 0.1}, [np.arange(3.0)])
    False
    """
    digest = hashlib.sha256(json.dumps(dict(about), sort_keys=True).encode())
    for array in arrays:
        digest.update(str((array.shape, array.dtype.str)).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def bytes_key(content: bytes) -> str:
    """SHA-256 of the bytes of a file or text."""
    return hashlib.sha256(content).hexdigest()
