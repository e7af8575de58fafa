"""The `finsler` command."""
