"""The lease of the only allocator of devices in a cluster.

The API server accepts two claims on one device. So of all adapters of a cluster, in whichever namespace they
are installed, only the one that holds this lease allocates. The holder is the installation, not its process:
the next leader of the same installation continues at once. The lease is not released, because the process
that ends cannot know whether the next leader renews it already; another installation waits until it expires.
When it takes over, it first lists all claims again: its caches may not show the last allocations yet.
"""

import threading
from collections.abc import Callable, Container
from typing import Final

from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.leader_election import LeaderElector

NAMESPACE: Final = "kube-system"
NAME: Final = "tenure-device-allocator"
_RENEW: Final = 1 / 7
"""Part of the duration after which the lease is renewed or read."""
_SLICES: Final = "resource_slices"


class DeviceLease:
    """Call `run` in a thread of its own. `wake` and `relist` return at once.

    `wake` is called when `problem` changes; `relist` when the lease came from another installation: it ends
    this object, and the next one begins with new caches.
    """

    def __init__(
        self,
        transport: Transport,
        installation: str,
        duration: float,
        followed: Container[str],
        may_act: Callable[[], bool],
        wake: Callable[[], None],
        relist: Callable[[], None],
    ) -> None:
        self._elector = LeaderElector(transport, NAMESPACE, NAME, installation, duration)
        self._duration, self._followed, self._wake = duration, followed, wake
        self._is_leader, self._relist = may_act, relist
        self._has_waited = False
        """Whether another installation held the lease."""
        self._stopped = threading.Event()

    def may_act(self) -> bool:
        """Whether this adapter leads, and may allocate devices."""
        is_ended = self._stopped.is_set() or self._has_waited
        return not is_ended and self._is_leader() and self._elector.may_act()

    def problem(self) -> str:
        """Why this adapter allocates no devices now; "": it does."""
        if _SLICES not in self._followed:
            return "the API server has no resource slices"
        if self.may_act():
            return ""
        lease = f"lease {NAMESPACE}/{NAME}"
        if self._elector.problem:
            return f"{lease} cannot be acquired: {self._elector.problem}"
        if self._elector.holder:
            return f"devices are allocated by another adapter, {self._elector.holder}, which holds {lease}"
        return f"{lease} is not acquired yet"

    def run(self) -> None:
        """Acquire the lease when it is free and renew it while this adapter leads, until stopped."""
        known = self.problem()
        while not self._stopped.is_set():
            self.renew()
            if (problem := self.problem()) != known:
                known = problem
                self._wake()
            self._stopped.wait(self._duration * _RENEW)

    def renew(self) -> None:
        """Acquire or renew the lease once, if this adapter leads."""
        if _SLICES in self._followed and self._is_leader():
            self._elector.try_once()
            if self._elector.term is None:
                self._has_waited = True
            elif self._has_waited and self._elector.may_act():
                self._relist()

    def stop(self) -> None:
        """Allocate no more, and return from `run`."""
        self._stopped.set()
