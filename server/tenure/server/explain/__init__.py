"""Explanations of decisions, computed by the searches that decide, for three audiences."""

from tenure.server.explain.explainer import Explainer

__all__ = ["Explainer"]
