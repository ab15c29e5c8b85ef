"""Which nodes a task may go to, whatever the amounts."""

from tenure.solver.plugins.predicates.plugin import Predicates

__all__ = ["Predicates"]
