"""Watches a service for all browsers: one thread, which calls at most one hundredth of the time.

ListCycles costs the service little and says whether there is anything new. A state is read again when its
version changed and the calls so far left time for it, so that a large cluster is shown less often instead of
costing more.
"""

import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from tenure.client import Client, StateMismatch, TenureError
from tenure.console.view import ShardName, View
from tenure.v1.capabilities_pb2 import GetCapabilitiesResponse
from tenure.v1.cycles_pb2 import ListCyclesRequest, ListCyclesResponse, RecentCycle
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateReference

SHARE: Final = 0.01
"""Part of the time that calls may take."""
BURST_SECONDS: Final = 1.0
"""Unused time of calls that is saved up, so that the first view appears at once."""
POLL_SECONDS: Final = 1.0
LIST_SECONDS: Final = 5.0
FIRST_SECONDS: Final = 5.0
"""Time that the first page waits for the service."""
WANTED_SECONDS: Final = 120.0
"""Time after its last request during which a cluster is watched."""
CALL_SECONDS: Final = 15.0
MAX_CYCLES: Final = 100
MAX_KEPT: Final = 40
"""Earlier snapshots of a small cluster that are kept."""
MAX_KEPT_PODS: Final = 1_000
_LOG: Final = logging.getLogger(__name__)


class CallBudget:
    """Limits the part of the time that calls take."""

    def __init__(self, share: float = SHARE, clock: Callable[[], float] = time.monotonic) -> None:
        self._share, self._clock = share, clock
        self._left, self._at = BURST_SECONDS, clock()
        self.spent = 0.0
        """Seconds of all calls."""

    @contextmanager
    def spend(self) -> Iterator[None]:
        """Count the time of the block."""
        began = self._clock()
        try:
            yield
        finally:
            took = self._clock() - began
            self._refill()
            self._left -= took
            self.spent += took

    def wait_seconds(self) -> float:
        """Time until the next call is allowed; 0: now."""
        self._refill()
        return max(0.0, -self._left / self._share)

    def _refill(self) -> None:
        now = self._clock()
        self._left = min(BURST_SECONDS, self._left + self._share * (now - self._at))
        self._at = now


class Watch:
    """The newest view of every cluster that someone looks at. Thread-safe; a context manager."""

    def __init__(self, client: Client, share: float = SHARE, poll_seconds: float = POLL_SECONDS) -> None:
        self._client, self._poll_seconds = client, poll_seconds
        self.budget = CallBudget(share)
        self.started_at = time.monotonic()
        self.states: Sequence[StateReference] = ()
        """All states that the console may read."""
        self.capabilities: GetCapabilitiesResponse | None = None
        self.problem = ""
        """Why the last call failed; empty: it did not."""
        self._views: dict[ShardName, View] = {}
        self._wanted: dict[ShardName, float] = {}
        self._listed_at = -LIST_SECONDS
        self._numbers = itertools.count(1)
        self._listeners: set[Callable[[], None]] = set()
        self._changed = threading.Condition()
        self._is_stopped = threading.Event()
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_stopped.set()
        self._woken.set()
        self._thread.join()

    def view(self, shard: ShardName, timeout: float = CALL_SECONDS) -> View | None:
        """The newest view of a cluster; waits for the first one. None: there is none."""
        with self._changed:
            is_new = shard not in self._wanted
            self._wanted[shard] = time.monotonic()
            if is_new:
                self._woken.set()
            self._changed.wait_for(lambda: shard in self._views or self._is_unknown(shard), timeout)
            return self._views.get(shard)

    def wait_for_states(self, timeout: float = FIRST_SECONDS) -> Sequence[StateReference]:
        """The states, as soon as they are known."""
        with self._changed:
            self._changed.wait_for(lambda: self.states or self.problem or self.has_listed, timeout)
            return self.states

    @property
    def has_listed(self) -> bool:
        """Whether the service has answered once."""
        return self._listed_at > 0

    def current(self) -> Mapping[ShardName, View]:
        """Views that are kept."""
        with self._changed:
            return dict(self._views)

    @contextmanager
    def listening(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call the listener after every change, for the block. It must return at once."""
        with self._changed:
            self._listeners.add(listener)
        try:
            yield
        finally:
            with self._changed:
                self._listeners.discard(listener)

    def _is_unknown(self, shard: ShardName) -> bool:
        if self.problem:
            return True
        known = {ShardName(state.cluster_id, state.node_pool) for state in self.states}
        return self.has_listed and shard not in known

    def _run(self) -> None:
        while not self._is_stopped.is_set():
            try:
                self._poll()
                problem = ""
            except TenureError as error:
                problem = str(error)
            except Exception:
                _LOG.exception("the console cannot read the service")
                problem = "internal error of the console; see its log"
            if problem != self.problem:
                self.problem = problem
                self.notify()
            self._woken.wait(max(self._poll_seconds, self.budget.wait_seconds()))
            self._woken.clear()

    def _poll(self) -> None:
        if self.capabilities is None or self.problem:
            with self.budget.spend():
                self.capabilities = self._client.get_capabilities(CALL_SECONDS)
        now = time.monotonic()
        if now - self._listed_at >= LIST_SECONDS or self.problem or not self.states:
            with self.budget.spend():
                self.states = self._client.list_states(CALL_SECONDS)
            self._listed_at = now
            self.notify()
        for shard in self._watched(now):
            self._poll_shard(shard)

    def _watched(self, now: float) -> list[ShardName]:
        with self._changed:
            for shard, requested_at in list(self._wanted.items()):
                if now - requested_at > WANTED_SECONDS:
                    del self._wanted[shard]
                    self._views.pop(shard, None)
            return list(self._wanted)

    def _poll_shard(self, shard: ShardName) -> None:
        before = self._views.get(shard)
        after = before.cycles[-1].number if before and before.cycles else 0
        with self.budget.spend():
            request = ListCyclesRequest(cluster_id=shard.cluster_id, node_pool=shard.node_pool, after=after)
            listed = self._client.list_cycles(request, CALL_SECONDS)
        if not listed.HasField("state"):
            self._drop(shard)
            return
        if before is None:
            self._add(shard, self._read(shard, listed.cycles))
        elif before.state != listed.state and self.budget.wait_seconds() <= 0:
            self._add(shard, self._read(shard, _joined(before.cycles, listed), _kept(before)))
        elif listed.cycles:
            cycles = _joined(before.cycles, listed)
            self._add(
                shard,
                replace(
                    before, number=next(self._numbers), cycles=cycles, seen_at=time.monotonic(), caches={}
                ),
            )

    def _read(
        self, shard: ShardName, cycles: Sequence[RecentCycle], earlier: Sequence[ClusterSnapshot] = ()
    ) -> View | None:
        try:
            with self.budget.spend():
                reference, snapshot, statuses, unusable = self._client.get_state_to_show(
                    *shard, timeout=CALL_SECONDS
                )
        except StateMismatch:
            return None
        by_uid = {status.pod_group: status for status in statuses}
        return View(
            next(self._numbers),
            reference,
            snapshot,
            tuple(cycles),
            time.monotonic(),
            earlier,
            by_uid,
            unusable,
        )

    def _add(self, shard: ShardName, view: View | None) -> None:
        if view is None:
            self._drop(shard)
            return
        with self._changed:
            self._views[shard] = view
        self.notify()

    def _drop(self, shard: ShardName) -> None:
        with self._changed:
            if self._views.pop(shard, None) is None:
                return
        self.notify()

    def notify(self) -> None:
        """Wake everything that waits for a change."""
        with self._changed:
            self._changed.notify_all()
            listeners = list(self._listeners)
        for listener in listeners:
            listener()


def _joined(cycles: Sequence[RecentCycle], listed: ListCyclesResponse) -> tuple[RecentCycle, ...]:
    """Cycles with later ones. Of those that decided nothing in a row the last is kept, as on the service."""
    found = deque(cycles, MAX_CYCLES)
    for cycle in listed.cycles:
        if found and not found[-1].response.groups and not cycle.response.groups:
            found.pop()
        found.append(cycle)
    return tuple(found)


def _kept(view: View) -> Sequence[ClusterSnapshot]:
    """The last snapshots of a small cluster, so that their cycles can be decided again."""
    is_small = len(view.snapshot.pods) <= MAX_KEPT_PODS
    return (*view.earlier, view.snapshot)[-MAX_KEPT:] if is_small else ()
