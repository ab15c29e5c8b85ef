"""Hierarchical fair share: limits and quotas, queue order, and fairness of reclaim."""
