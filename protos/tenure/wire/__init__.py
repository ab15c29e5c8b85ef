"""Requests looked through as bytes, before a parser builds objects of them: too many rows, too long texts."""
