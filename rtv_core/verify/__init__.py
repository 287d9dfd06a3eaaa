"""Verify: one validity score per candidate, from its own evidence."""
