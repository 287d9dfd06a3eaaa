"""The pages: records in, escaped HTML out, one handler for each thing a person can do."""
