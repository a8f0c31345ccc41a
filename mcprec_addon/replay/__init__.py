"""Call -> recorded answer or miss."""
