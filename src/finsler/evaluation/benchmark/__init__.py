"""Any method on the pairs of any collection: samples, files, summaries, published figures."""

from finsler.evaluation.benchmark.measuring import (
    PLAIN,
    MapSource,
    PairSample,
    Trial,
    choose_sample,
    describe_shape,
    measure_pair,
    pair_rows,
)
from finsler.evaluation.benchmark.published import PUBLISHED_MEANS, Published, published_for
from finsler.evaluation.benchmark.summary import (
    COLUMNS,
    CONVENTIONS,
    FAILED,
    GRID,
    Figures,
    PairSummary,
    results_dict,
    summarize_pairs,
    summary_table,
)

__all__ = [
    "COLUMNS",
    "CONVENTIONS",
    "FAILED",
    "GRID",
    "PLAIN",
    "PUBLISHED_MEANS",
    "Figures",
    "MapSource",
    "PairSample",
    "PairSummary",
    "Published",
    "Trial",
    "choose_sample",
    "describe_shape",
    "measure_pair",
    "pair_rows",
    "published_for",
    "results_dict",
    "summarize_pairs",
    "summary_table",
]
