"""Keeping a pod's CPUs, memory and devices close to each other within a node."""

from tenure.solver.plugins.numa.plugin import Numa

__all__ = ["Numa"]
