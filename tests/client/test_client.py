"""The client: every failure is an error that says what to do."""
