"""What people said of candidates, kept in one SQLite file with the traces they saw."""
