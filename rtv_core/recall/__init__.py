"""Recall: read each passage alone, propose answers."""
