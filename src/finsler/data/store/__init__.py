"""Prepared shapes, kept on disk."""
