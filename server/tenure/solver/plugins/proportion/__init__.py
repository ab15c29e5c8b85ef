"""Hierarchical fair share: what each queue may use, who goes first, who may reclaim from whom."""

from tenure.solver.plugins.proportion.plugin import Proportion

__all__ = ["Proportion"]
