"""Hierarchical fair share: what each queue may use, who goes first, who may reclaim from whom."""
