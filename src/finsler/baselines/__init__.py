"""Other people's systems, in the same harness."""
