"""An independent check of decisions: reads only the messages, shares no code with the solver."""

from tests.verify.checker import verify
from tests.verify.runtime import RuntimeGuards

__all__ = ["RuntimeGuards", "verify"]
