"""Attacks by requests that take long: work grows in proportion to the request, and ends with the call."""
