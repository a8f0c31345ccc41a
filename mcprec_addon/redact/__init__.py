"""Values to values without secrets."""
