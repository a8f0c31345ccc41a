"""Call -> match key."""
