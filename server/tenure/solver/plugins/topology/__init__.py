"""Keeping pods together: within one rack, block or zone."""

from tenure.solver.plugins.topology.plugin import Topology

__all__ = ["Topology"]
