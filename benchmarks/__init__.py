"""Measurements. Each script says its command in its first lines and prints what the README quotes."""
