"""Which answers people judge, and what their judgements are worth together."""
