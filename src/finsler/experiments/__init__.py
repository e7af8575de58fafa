"""Experiments: trials, seeds, tables."""
