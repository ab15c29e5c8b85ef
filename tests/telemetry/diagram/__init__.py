"""The diagram of a trace in the documentation."""
