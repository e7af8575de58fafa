"""Published figures of the sets, with their sources, to stand beside our own."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

_MAGNET = (
    "Magnet and Ovsjanikov, Memory-scalable and simplified functional map learning, CVPR 2024,"
    " which quotes them"
)
_LUO = (
    "Luo et al., From feature learning to spectral basis learning, CVPR 2026, table 4, which quotes"
    " them"
)
_LUO_HARD = (
    "Luo et al., From feature learning to spectral basis learning, CVPR 2026, table of"
    " non-isometric and anisotropic shapes, which quotes them"
)
_CAO = "Cao, Roetzer and Bernard, Unsupervised learning of robust spectral shape matching, 2023"


@dataclass(frozen=True)
class Published:
    """A mean error × 100, divided by √area, over all ordered test pairs.

    Attributes
    ----------
    collection, method, kind : str
        kind: "no training", "supervised" or "unsupervised".
    mean : float
    source, note : str
        Where it is printed; what it was trained on, where that is another set.
    """

    collection: str
    method: str
    kind: str
    mean: float
    source: str
    note: str = ""


def _rows(
    collections: tuple[str, ...], source: str, note: str, *rows: tuple[Any, ...]
) -> list[Published]:
    return [
        Published(collection, method, kind, mean, source, note)
        for method, kind, *means in rows
        for collection, mean in zip(collections, means, strict=True)
    ]


_UN = "unsupervised"
PUBLISHED_MEANS = (
    *_rows(
        ("FAUST_r", "SCAPE_r"),
        _MAGNET,
        "",
        ("BCICP", "no training", 6.1, 11.0),
        ("ZoomOut", "no training", 6.1, 7.5),
        ("Smooth Shells", "no training", 2.5, 4.7),
    ),
    *_rows(
        ("FAUST_r", "SCAPE_r"),
        _LUO,
        "",
        ("GeomFMaps", "supervised", 2.6, 3.0),
        ("AttentiveFMaps", _UN, 1.9, 2.2),
        ("DiffZO", _UN, 1.9, 2.4),
        ("ULRSSM", _UN, 1.6, 1.9),
        ("HybridFMaps", _UN, 1.4, 1.8),
    ),
    *_rows(
        ("SHREC'19_r",),
        _LUO,
        "trained on FAUST_r",
        ("GeomFMaps", "supervised", 9.9),
        ("AttentiveFMaps", _UN, 6.4),
        ("ULRSSM", _UN, 14.5),
        ("ULRSSM, tuned on each test pair", _UN, 5.7),
        ("HybridFMaps", _UN, 9.5),
        ("DiffZO", _UN, 4.2),
    ),
    *_rows(
        ("SMAL_r by categories", "DT4D_r across characters"),
        _LUO_HARD,
        "",
        ("ULRSSM", _UN, 4.5, 5.2),
        ("ULRSSM, tuned on each test pair", _UN, 4.2, 4.1),
        ("HybridFMaps", _UN, 3.5, 3.9),
        ("DeepFAFM", _UN, 3.9, 4.2),
        ("Luo et al.", _UN, 2.6, 3.5),
    ),
    *_rows(
        ("FAUST_a",),
        _LUO_HARD,
        "trained on SCAPE_r",
        ("ULRSSM", _UN, 8.9),
        ("ULRSSM, tuned on each test pair", _UN, 2.4),
        ("HybridFMaps", _UN, 4.6),
        ("DeepFAFM", _UN, 2.9),
    ),
    *_rows(
        ("SCAPE_a",),
        _LUO_HARD,
        "trained on SCAPE_a",
        ("ULRSSM", _UN, 1.9),
        ("HybridFMaps", _UN, 1.8),
        ("DeepFAFM", _UN, 1.9),
    ),
    *_rows(("DT4D_r within characters",), _CAO, "", ("ULRSSM", _UN, 0.9)),
)


def published_for(collection: str) -> list[dict[str, Any]]:
    """The published figures of a collection, best first, as records."""
    rows = [row for row in PUBLISHED_MEANS if row.collection == collection]
    return [asdict(row) for row in sorted(rows, key=lambda row: row.mean)]
