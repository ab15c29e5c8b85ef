"""Sets of victims on random clusters, judged by counting."""
