"""`python -m tests.kubernetes.fault_injection.skewed_clock SECONDS ARGUMENTS...`: `tenure` on a machine whose clock is ahead.

Where the adapter reads the clock of its machine it finds one that is ahead; stopwatches run as ever.
"""

import sys
import time
from types import SimpleNamespace

from tenure.cli.main import main
from tenure.kubernetes import clock


def set_clock(seconds: float) -> None:
    """Let the adapter of this process find another time."""
    ahead = int(seconds * 1e9)
    machine = SimpleNamespace(time_ns=lambda: time.time_ns() + ahead, monotonic_ns=time.monotonic_ns)
    setattr(clock, "time", machine)  # noqa: B010  (what the module imported, not a name of its own)


if __name__ == "__main__":
    set_clock(float(sys.argv.pop(1)))
    main()
