"""Find passages: by meaning, by words, and both together."""
