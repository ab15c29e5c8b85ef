"""Resource usage of a process, as reported by the kernel."""

from pathlib import Path
from typing import Final

from tenure.terms.durations import SECOND

_PAGE: Final = 4_096
_MIB: Final = 2**20


def processor_seconds(pid: int) -> float:
    """Return the processor time of all current threads."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / SECOND


def resident_mib(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE / _MIB
