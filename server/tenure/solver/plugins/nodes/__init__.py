"""Filters, scores, sets of nodes and NUMA zones."""
