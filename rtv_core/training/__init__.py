"""Train the embedded reader: examples from public sets, the recaller, then recaller and verifier together."""
