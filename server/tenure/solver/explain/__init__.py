"""Explanations of decisions, obtained by replaying the searches of a cycle."""
