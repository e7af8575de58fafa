"""Reports: one file that shows a result with tables, curves and surfaces, anywhere and offline."""

from finsler.view.report.blocks import (
    Html,
    facts,
    folded,
    markdown,
    paragraph,
    section,
    table,
)
from finsler.view.report.charts import Curve, line_chart
from finsler.view.report.page import write_report
from finsler.view.report.pages import (
    error_chart,
    evaluation_blocks,
    interval_curve,
    learning_charts,
    match_blocks,
    training_blocks,
)
from finsler.view.report.scene import View, scene

__all__ = [
    "Curve",
    "Html",
    "View",
    "error_chart",
    "evaluation_blocks",
    "facts",
    "folded",
    "interval_curve",
    "learning_charts",
    "line_chart",
    "markdown",
    "match_blocks",
    "paragraph",
    "scene",
    "section",
    "table",
    "training_blocks",
    "write_report",
]
