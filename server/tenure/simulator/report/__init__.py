"""A run as figures and as a page."""
