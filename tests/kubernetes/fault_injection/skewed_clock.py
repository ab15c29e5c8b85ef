"""Run `tenure ARGUMENTS...` on a machine whose clock is SECONDS ahead.

Usage: `python -m tests.kubernetes.fault_injection.skewed_clock SECONDS ARGUMENTS...`. The adapter reads a
wall clock that is ahead of time; monotonic clocks are correct.
"""

import sys
import time
from types import SimpleNamespace

from tenure.cli.main import main
from tenure.kubernetes.api import api_clock


def set_clock(seconds: float) -> None:
    """Shift the wall clock of the adapter in this process."""
    ahead = int(seconds * 1e9)
    machine = SimpleNamespace(time_ns=lambda: time.time_ns() + ahead, monotonic_ns=time.monotonic_ns)
    setattr(api_clock, "time", machine)  # noqa: B010  (what the module imported, not a name of its own)


if __name__ == "__main__":
    set_clock(float(sys.argv.pop(1)))
    main()
