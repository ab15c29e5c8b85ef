"""Guaranteed minimum runtime before a pod group may be preempted or reclaimed."""

from tenure.solver.plugins.minruntime.plugin import MinRuntime

__all__ = ["MinRuntime"]
