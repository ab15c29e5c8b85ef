"""The event loop: jobs arrive, start, end and are evicted, nodes fail, and a decider decides in between.

Time is an integer of nanoseconds. Events of the same instant have a fixed order (`events`), and one cycle
follows them. A cycle runs when something changed or the time that the last response names has come, at most
once per cycle period.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from tenure.simulator.decider import SAMPLE_PERIOD, Decider
from tenure.simulator.events import Event, EventKind, EventQueue
from tenure.simulator.in_flight import InFlightGroups
from tenure.simulator.jobs import Job
from tenure.simulator.meter import Meter
from tenure.simulator.results import Results
from tenure.simulator.settings import RunSettings
from tenure.simulator.state_rows import StateRows
from tenure.simulator.workloads import Workloads
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import DecisionGroup, Patch
from tenure.v1.pod_group_status_pb2 import UnusableGpus
from tenure.v1.snapshot_pb2 import ClusterSnapshot

MAX_IDLE_CYCLES: Final = 1_000
"""Cycles without a decision after which jobs that nothing will change for are left pending."""
FAILED: Final = "NotReady"
"""Condition of a node that failed."""

Progress = Callable[[int, int, int], None]
"""Called with the time, the number of ended jobs and the number of cycles."""


class Simulation:
    """One run. Nothing of it is used twice."""

    def __init__(
        self,
        cluster: ClusterSnapshot,
        jobs: Sequence[Job],
        settings: RunSettings,
        decider: Decider,
        progress: Progress = lambda now, ended, cycles: None,
    ) -> None:
        self._settings = settings
        self._decider = decider
        self._progress = progress
        self._jobs = {job.name: job for job in jobs}
        self._events = EventQueue()
        self._rows = StateRows(cluster)
        self._gpu_milli = {node.name: node.allocatable.gpu_milli for node in cluster.nodes}
        self.results = Results()
        parents = {queue.parent for queue in cluster.queues}
        leaves = sorted(queue.name for queue in cluster.queues if queue.name not in parents)
        self._meter = Meter(self.results, leaves, sum(self._gpu_milli.values()))
        self._work = Workloads(self._rows, self._events, self._meter, settings, self.results)
        self._in_flight = InFlightGroups(self._rows, self._work, self.results)
        self._last_cycle = -settings.cycle_period
        self._cycle_at: int | None = None
        self._timer = 0
        self._idle_cycles = 0
        self._failures = dict.fromkeys(self._gpu_milli, 0)
        for job in jobs:
            self._events.add(job.submit, EventKind.ARRIVAL, job.name)
        if jobs and settings.node_failure_interval:
            for node in cluster.nodes:
                self._schedule_failure(jobs[0].submit, node.name)

    def run(self, until: int | None = None) -> Results:
        """Play all events; the run ends when no job is left that can end, or at a time in nanoseconds."""
        now = self._events.next_time() if self._events else 0
        self._meter.advance(now)
        while self._events and not self._is_over():
            if until is not None and self._events.next_time() > until:
                now, self.results.stopped = until, True
                break
            now = self._events.next_time()
            self._meter.advance(now)
            while self._events and self._events.next_time() == now:
                event = self._events.pop()
                if self._handle(event):
                    self._request_cycle(now)
            self._work.settle_changes(now)
            self._progress(now, len(self.results.jobs), self.results.cycles)
        self._meter.finish(now)
        self._work.finish(now, self._jobs.values())
        return self.results

    def _is_over(self) -> bool:
        if self._work.unfinished or self._work.arrived < len(self._jobs):
            return (
                not self._work.is_moving
                and self._work.arrived == len(self._jobs)
                and (self._idle_cycles > MAX_IDLE_CYCLES)
            )
        return True

    def _handle(self, event: Event) -> bool:
        """Play an event. True if it changed the cluster, so that a cycle is due."""
        now = event.time
        match event.kind:
            case EventKind.ARRIVAL:
                self._work.arrive(self._jobs[event.subject], now)
            case EventKind.COMPLETION:
                return self._work.complete(event.subject, event.ticket, now)
            case EventKind.TERMINATION_DONE:
                return self._work.terminated(event.subject, now)
            case EventKind.STARTED:
                return self._work.started(event.subject, now)
            case EventKind.NODE_LOST:
                self._lose_node(event.subject, now)
            case EventKind.NODE_BACK:
                self._restore_node(event.subject, now)
            case EventKind.TIMER:
                return event.ticket == self._timer
            case EventKind.CYCLE:
                if event.time == self._cycle_at:
                    self._cycle_at = None
                    self._work.settle_changes(now)
                    self._cycle(now)
                return False
        return True

    def _request_cycle(self, now: int) -> None:
        if self._cycle_at is None:
            self._cycle_at = max(now, self._last_cycle + self._settings.cycle_period)
            self._events.add(self._cycle_at, EventKind.CYCLE)

    def _cycle(self, now: int) -> None:
        if (
            not self._settings.every_cycle
            and not self._work.pending
            and not self._rows.get("in_flight_groups")
        ):
            self.results.skipped_cycles += 1  # no action has a beneficiary
            return
        is_first, self._last_cycle = now // SAMPLE_PERIOD != self._last_cycle // SAMPLE_PERIOD, now
        response = self._decider.decide(self._rows.take_delta(now), lambda: self._rows.snapshot(now))
        if is_first and response.HasField("unusable_gpus"):
            sample = UnusableGpus()  # a copy: the message of a response keeps all of it in memory
            sample.CopyFrom(response.unusable_gpus)
            self.results.samples.append(sample)
        self._note(response)
        for group in response.groups:
            self._apply(group, now)
        self._in_flight.track(response, now)
        self._work.settle_changes(now)
        if response.groups:
            self._idle_cycles = 0
            self._request_cycle(now)
        else:
            self._idle_cycles += 1
        self._timer += 1
        if response.HasField("next_wake_time"):
            wake = max(response.next_wake_time.ToNanoseconds(), now + self._settings.cycle_period)
            self._events.add(wake, EventKind.TIMER, ticket=self._timer)

    def _note(self, response: DecideResponse) -> None:
        results = self.results
        results.cycles += 1
        for group in response.groups:
            results.decisions[group.action] = results.decisions.get(group.action, 0) + 1
        for field, value in response.counters.ListFields():
            results.counters[field.name] = results.counters.get(field.name, 0) + value
        for patch in response.state_patches:
            self._rows.apply(patch)
        self._meter.set_shares({queue.name: queue.fair_share.gpu_milli for queue in response.queues})

    def _apply(self, group: DecisionGroup, now: int) -> None:
        """Carry out all decisions of a group. Evictions and bindings show at once; notices and reservations
        are kept in flight.
        """
        evicted: dict[str, int] = {}
        for decision in group.decisions:
            match decision.WhichOneof("kind"):
                case "evict":
                    victim = self._work.evict(decision.evict.pod, now)
                    if victim:
                        evicted[victim] = evicted.get(victim, 0) + 1
                case "bind":
                    self._work.bind(decision.bind, now)
                case "patch":
                    self._patch(decision.patch)
        self._in_flight.accept(group, evicted, now)
        self._work.note_evictions(group, evicted, now)

    def _patch(self, patch: Patch) -> None:
        change = patch.WhichOneof("change")
        if change == "set_eviction_record":
            self._rows.put_record(patch.set_eviction_record)
            return
        if change == "delete_eviction_record":
            self._rows.remove("eviction_history", (patch.pod_group, patch.delete_eviction_record))
            return
        row = self._rows.get("pod_groups").get(patch.pod_group)
        if row is None or change is None:
            return
        if change == "clear_stale_since":
            row.ClearField("stale_since")
        elif change == "eviction_count":
            row.eviction_count = patch.eviction_count
        elif change == "evictions_without_progress":
            row.evictions_without_progress = patch.evictions_without_progress
        elif change == "held_by":
            row.held_by = patch.held_by
        else:
            getattr(row, change).CopyFrom(getattr(patch, change))
        self._rows.changed("pod_groups", patch.pod_group)

    def _schedule_failure(self, now: int, node: str) -> None:
        """Draw the next failure of a node. Draws depend on seed, node and number only."""
        draws = Random(f"{self._settings.seed}/failure/{node}/{self._failures[node]}")  # noqa: S311 no secret
        self._failures[node] += 1
        after = int(draws.expovariate(1 / self._settings.node_failure_interval))
        self._events.add(now + max(after, 1), EventKind.NODE_LOST, node)

    def _lose_node(self, node: str, now: int) -> None:
        self.results.node_failures += 1
        row = self._rows.get("nodes")[node]
        row.unready_conditions.append(FAILED)
        self._rows.changed("nodes", node)
        self._work.lose_node(node, now)
        self._meter.usable -= self._gpu_milli[node]
        self._events.add(now + self._settings.node_repair_time, EventKind.NODE_BACK, node)

    def _restore_node(self, node: str, now: int) -> None:
        row = self._rows.get("nodes")[node]
        row.ClearField("unready_conditions")
        self._rows.changed("nodes", node)
        self._meter.usable += self._gpu_milli[node]
        self._schedule_failure(now, node)
