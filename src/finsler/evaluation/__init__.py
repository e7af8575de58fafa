"""How good a correspondence is: geodesic errors, scores with intervals, and reports."""

from finsler.evaluation.curves import (
    MEASURES,
    Interval,
    Score,
    Summary,
    combine,
    score,
    student_interval,
    summarize,
)
from finsler.evaluation.distances import (
    CacheWarning,
    Distances,
    DistancesOnDemand,
    ReferenceDistances,
    choose_distances,
    matrix_memory,
    reference_distances,
)
from finsler.evaluation.error import UNITS, geodesic_errors
from finsler.evaluation.maps import MapScore, score_map
from finsler.evaluation.predictions import (
    Predictions,
    load_predictions,
    save_predictions,
    unreadable_shapes,
)
from finsler.evaluation.protocol import (
    VERTICES,
    Evaluation,
    RunScore,
    ShapeScore,
    Vertices,
    evaluate,
    score_shape,
)
from finsler.evaluation.report import (
    markdown_report,
    markdown_table,
    results_dict,
    write_results,
)
from finsler.evaluation.surface_distances import SurfaceDistances

__all__ = [
    "MEASURES",
    "UNITS",
    "VERTICES",
    "CacheWarning",
    "Distances",
    "DistancesOnDemand",
    "Evaluation",
    "Interval",
    "MapScore",
    "Predictions",
    "ReferenceDistances",
    "RunScore",
    "Score",
    "ShapeScore",
    "Summary",
    "SurfaceDistances",
    "Vertices",
    "choose_distances",
    "combine",
    "evaluate",
    "geodesic_errors",
    "load_predictions",
    "markdown_report",
    "markdown_table",
    "matrix_memory",
    "reference_distances",
    "results_dict",
    "save_predictions",
    "score",
    "score_map",
    "score_shape",
    "student_interval",
    "summarize",
    "unreadable_shapes",
    "write_results",
]
