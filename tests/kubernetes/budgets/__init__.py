"""Disruption budgets that the adapter observes."""
