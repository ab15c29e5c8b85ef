"""Properties of decisions, checked without code of the solver."""
