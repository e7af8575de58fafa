"""Experiments: tables of the paper from shapes to figures, with seeds and intervals. Needs torch.

[`reproduce`][finsler.experiments.reproduce] does all of it; its parts plan a table, train
what is not trained yet, score it, and write it down.
"""

from finsler.experiments.methods import (
    METHODS,
    Method,
    apply_settings,
    parse_method,
    parse_methods,
)
from finsler.experiments.pipeline import reproduce, write_table
from finsler.experiments.report import main_table, table_dict, table_markdown
from finsler.experiments.scores import Results, paired, score_trials, spread
from finsler.experiments.tables import PUBLISHED, TABLES, label_rule, open_parts
from finsler.experiments.trials import Plan, Trial, plan_table, train_and_predict, train_trials

__all__ = [
    "METHODS",
    "PUBLISHED",
    "TABLES",
    "Method",
    "Plan",
    "Results",
    "Trial",
    "apply_settings",
    "label_rule",
    "main_table",
    "open_parts",
    "paired",
    "parse_method",
    "parse_methods",
    "plan_table",
    "reproduce",
    "score_trials",
    "spread",
    "table_dict",
    "table_markdown",
    "train_and_predict",
    "train_trials",
    "write_table",
]
