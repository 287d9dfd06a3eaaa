"""What recall-then-verify is compared with: the same encoder, data and steps, but answers that compete."""
