"""Randers metrics."""

from finsler.metric.randers import RandersMetric
from finsler.metric.recipes import curvature_strength, tau_of_strength

__all__ = ["RandersMetric", "curvature_strength", "tau_of_strength"]
