"""Where work runs and what it may take: processes and clusters, memory."""
