"""The embedded encoder: (question, passage) read once, for recall and verification alike."""
