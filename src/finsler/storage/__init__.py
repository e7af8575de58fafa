"""Files that are never half written, arrays, JSON, records and content keys."""
