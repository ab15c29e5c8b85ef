"""Memory of the process: its limit, how it is divided, and what requests in flight may take.

The limit is that of the setting, the container or the machine. Pushed states, messages that arrive and
requests in flight have a part each, so together they stay below the limit.
"""

import ctypes
import os
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tenure.server.settings import ServerLimits

MIB: Final = 2**20
PROCESS_BYTES: Final = 256 * MIB
"""Memory of an idle server, and of one that telemetry, records and responses take from time to time."""
SMALL_BYTES: Final = MIB
"""Requests that take less are not counted: their number is limited."""
OTHERS_RECEIVING: Final = 4
"""Number of messages of health checks and reflection that may arrive at a time."""
_MIN_RECEIVING: Final = 2
_MAX_RECEIVING: Final = 64
_NEARLY_FULL: Final = 0.9
"""Part of the limit at which the process is in danger."""
_STATM: Final = Path("/proc/self/statm")
_C: Final = ctypes.CDLL(None) if os.name == "posix" else None
_TRIM: Final = getattr(_C, "malloc_trim", None)
"""Returns freed memory to the system, where the C library can."""
_MALLOPT: Final = getattr(_C, "mallopt", None) if _TRIM else None
"""Sets up the allocator of the GNU C library."""
_M_ARENA_MAX: Final = -8
"""Parameter of mallopt: the maximum number of arenas."""
_ARENAS: Final = 2
_ARENAS_VARIABLE: Final = "MALLOC_ARENA_MAX"
_LIMIT_FILES: Final = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


class MemoryExhausted(Exception):
    """Other requests take the memory. Retry later."""


class RequestTooLarge(ValueError):
    """A request takes more memory than all requests together may take. The message has the fix."""


@dataclass(frozen=True)
class MemoryPlan:
    """Parts of the memory of the process, in bytes."""

    limit: int
    states: int
    """Pushed states."""
    requests: int
    """Requests in flight and uploads, parsed and decoded."""
    max_receiving: int
    """Number of messages of the service that may arrive at a time; each may be as large as the largest."""

    @classmethod
    def of(cls, limits: ServerLimits) -> "MemoryPlan":
        """Divide the memory of this process."""
        limit = memory_limit() if limits.max_memory_mib is None else limits.max_memory_mib * MIB
        message = limits.max_message_mib * MIB
        available = max(limit - PROCESS_BYTES - OTHERS_RECEIVING * message, limit // 2)
        receiving = min(max(available // 6 // message, _MIN_RECEIVING), _MAX_RECEIVING)
        states = min(limits.max_state_mib * MIB, available // 2)
        requests = max(available - states - receiving * message, available // 4)
        return cls(limit, states, requests, receiving)


def memory_limit() -> int:
    """Limit of the container in bytes, else the memory of the machine."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in _LIMIT_FILES:
        with suppress(OSError, ValueError):  # no limit is "max", or a number beyond the machine's
            return min(int(file.read_text()), machine)
    return machine


def limit_arenas() -> None:
    """Let threads share two arenas of the C library, unless the environment says otherwise.

    By default, every thread may get an arena of its own. Each holds memory that the others cannot use, so the
    process would grow for hours. Must be called before threads start.
    """
    if _MALLOPT is not None and _ARENAS_VARIABLE not in os.environ:
        _MALLOPT(_M_ARENA_MAX, _ARENAS)


def is_nearly_full(limit: int) -> bool:
    """Whether the process is about to reach its limit in bytes; returns unused memory to the system first."""
    if _resident_bytes() < limit * _NEARLY_FULL:
        return False
    if _TRIM is not None:
        _TRIM(0)
    return _resident_bytes() >= limit * _NEARLY_FULL


def _resident_bytes() -> int:
    """Memory of this process; 0 where the system does not have the file."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


class RequestMemory:
    """Counts the memory of requests in flight, and refuses the largest first.

    A request may take at most half of the memory that is free. So when memory gets short, large requests are
    refused while small ones are still served. The requests of one caller together may take three quarters of
    all memory, so that some is left for every other caller. A request that is alone may take all.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes: Counter[str] = Counter()
        """Memory in use, by caller."""
        self._changing = threading.Lock()

    @property
    def bytes(self) -> int:
        """Memory in use."""
        with self._changing:
            return self._bytes.total()

    def take(self, caller: str, size: int, held: int = 0) -> None:
        """Reserve memory for a request that holds some already. Raises MemoryExhausted or RequestTooLarge."""
        with self._changing:
            others, wanted = self._bytes.total() - held, held + size
            if wanted > self._max_bytes:
                raise RequestTooLarge(
                    f"the request takes about {wanted // MIB:,} MiB of memory, more than the"
                    f" {self._max_bytes // MIB:,} MiB for requests: send less, or raise server.maxMemoryMib"
                )
            of_caller = self._bytes[caller] + size
            is_much = wanted > (self._max_bytes - others) // 2 or of_caller > self._max_bytes * 3 // 4
            if others and wanted > SMALL_BYTES and is_much:
                raise MemoryExhausted
            self._bytes[caller] = of_caller

    def free(self, caller: str, size: int) -> None:
        """Return reserved memory."""
        if size:
            with self._changing:
                self._bytes[caller] -= size
                if not self._bytes[caller]:
                    del self._bytes[caller]
