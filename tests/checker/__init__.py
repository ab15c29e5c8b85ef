"""An independent check of decisions: reads only the messages, shares no code with the solver."""

from tests.checker.checker import verify
from tests.checker.rules.min_runtime import RuntimeGuards

__all__ = ["RuntimeGuards", "verify"]
