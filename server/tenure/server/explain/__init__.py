"""Explain: answers to the questions of people, from the searches that decide, for three kinds of readers."""

from tenure.server.explain.explainer import Explainer

__all__ = ["Explainer"]
