"""Disruption budgets and pacing (semantics section 15)."""
