"""Independent check of responses: reads only the messages and shares no code with the solver."""

from tests.checker.checker import verify
from tests.checker.rules.min_runtime import RuntimeGuards

__all__ = ["RuntimeGuards", "verify"]
