"""A scheduler in memory, for tests of the kit and of adapters."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.client import Client
from tenure.client.session import StateSession
from tenure.integration.journal import Journal, PendingPatches
from tenure.integration.journal_entry import JournalEntry
from tenure.integration.journal_format import load_journal, unpack_journal
from tenure.integration.ports import (
    APPLIED,
    ApplyResult,
    ClusterError,
    EvictionBudget,
    FinishedRun,
    JournalConflict,
    LeaseLost,
    SnapshotSource,
    precondition_failed,
    retry,
)
from tenure.integration.reconciler import ClusterPorts, Reconciler
from tenure.integration.testing import AdapterKilled, KillPoint
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import Decision, Patch, PodGroupOutcome
from tenure.v1.report_pb2 import ReportResultsRequest, ReportResultsResponse

START_SECONDS: Final = 1_800_000_000
"""Time at which the scheduler starts, in seconds since 1970."""
_ALIVE: Final = KillPoint(0)


class FakeScheduler(SnapshotSource):
    """A scheduler in memory that implements all ports and RefusingCluster. Uids are names.

    A call raises AssertionError if it breaks the order of effects: a decision is sent before the journal
    contains it, a group leaves the journal before its results were reported, or a patch is written before
    the server returned it.
    """

    name: Final = "the journal in memory"

    def __init__(self, snapshot: pb.ClusterSnapshot) -> None:
        super().__init__(self._copy_rows)
        self.rows = snapshot
        self.max_bytes = 1_000_000
        self.is_leader, self.term = True, 1
        self.applied: Counter[str] = Counter()
        self.attempts: Counter[str] = Counter()
        """Writes by name; also those that fail."""
        self.derived_pod_groups: set[str] = set()
        """Pod groups without an object that could store patches."""
        self.failures: list[tuple[str, Exception | ApplyResult]] = []
        """Errors of the next writes whose names start so; each is used once."""
        self.eviction_budgets: dict[str, list[EvictionBudget]] = {}
        """Budgets of pods."""
        self.finished: list[FinishedRun] = []
        """What finished since it was taken last."""
        self.calls: list[str] = []
        """Names of all writes that had an effect, in order."""
        self.outcomes: dict[str, PodGroupOutcome] = {}
        self.content = b""
        self.writes, self.is_dead, self._kill = 0, False, _ALIVE
        self._version, self._loaded_version = 0, 0
        self._unreported: set[str] = set()
        self._returned: list[Patch] = []
        self._nanoseconds = START_SECONDS * 10**9
        self._writing = threading.RLock()

    def start(self, client: Client, kill: KillPoint = _ALIVE) -> "FakeAdapter":
        """Start an adapter, to be killed at a write."""
        self.writes, self.is_dead, self._kill = 0, False, kill
        return FakeAdapter(self, client)

    def now(self) -> Timestamp:
        """The time, a few milliseconds later with each call."""
        self._nanoseconds += 5_000_000
        now = Timestamp()
        now.FromNanoseconds(self._nanoseconds)
        return now

    def pass_time(self, seconds: float = 0.0) -> None:
        """Let evicted pods terminate and bound pods run."""
        with self._writing:
            self._nanoseconds += int(seconds * 1e9)
            pods = [pod for pod in self.rows.pods if pod.status != pb.POD_STATUS_RELEASING]
            del self.rows.pods[:]
            self.rows.pods.extend(pods)
            for pod in self.rows.pods:
                if pod.status == pb.POD_STATUS_BOUND:
                    pod.status = pb.POD_STATUS_RUNNING

    def take_finished(self) -> list[FinishedRun]:
        """What finished since the last call."""
        finished, self.finished = self.finished, []
        return finished

    def refuse(self, effect: str, seconds: float) -> None:
        """Refuse the next such write, and request a pause."""
        self.failures.append((effect, retry("busy", after=seconds)))

    def stored_pod_group(self, name: str) -> pb.PodGroup:
        """The row of a pod group."""
        return next(row for row in self.rows.pod_groups if row.uid == name)

    def replace_journal(self) -> None:
        """Save the journal as another adapter would."""
        self._version += 1

    def preconditions(self) -> Callable[[Decision], str]:
        """A check whether the pod exists and is where the decision expects it."""
        return self._find_violation

    def budgets(self) -> Callable[[Decision], Sequence[EvictionBudget]]:
        """The budgets of pods, by uid."""
        return lambda decision: self.eviction_budgets.get(decision.evict.pod, ())

    def is_visible(self, decision: Decision) -> bool:
        """Whether the rows show the effect."""
        pod = self._find(decision)
        if decision.HasField("bind"):
            return pod is not None and pod.node == decision.bind.node
        return pod is None or pod.status == pb.POD_STATUS_RELEASING

    def look_up(self, decision: Decision) -> ApplyResult | None:
        """Look for the effect of a decision."""
        self._require_alive()
        if self.is_visible(decision):
            return APPLIED
        violation = self._find_violation(decision)
        return precondition_failed(violation) if violation else None

    def apply(self, decision: Decision) -> ApplyResult:
        """Evict or bind a pod."""
        stored = self._stored().entries.values()
        owner = next((one.id for one in stored if decision in one.group.decisions), "")
        assert owner, f"decision {decision.id} is sent before the journal contains it"
        kind = decision.WhichOneof("kind")
        name = f"{kind} {decision.bind.pod or decision.evict.pod}"
        return self.attempt(name, lambda: self._do(decision, owner))

    def _do(self, decision: Decision, owner: str) -> None:
        self._unreported.add(owner)
        pod = self._find(decision)
        assert pod is not None, "the pod is gone"
        if decision.HasField("bind"):
            assert not pod.node, "the pod is bound"
            pod.node, pod.status = decision.bind.node, pb.POD_STATUS_BOUND
        else:
            pod.status = pb.POD_STATUS_RELEASING
        self.applied[f"{decision.WhichOneof('kind')} {pod.uid}"] += 1

    def _find(self, decision: Decision) -> pb.Pod | None:
        uid = decision.bind.pod or decision.evict.pod
        return next((row for row in self.rows.pods if row.uid == uid), None)

    def _find_violation(self, decision: Decision) -> str:
        pod = self._find(decision)
        if pod is None:
            return "the pod is gone"
        if decision.HasField("bind"):
            return f"the pod is on node {pod.node}" if pod.node not in ("", decision.bind.node) else ""
        return "the pod is terminating" if pod.status == pb.POD_STATUS_RELEASING else ""

    def has_object(self, pod_group: str) -> bool:
        """Whether the pod group has a row and is not derived."""
        return pod_group not in self.derived_pod_groups and any(
            row.uid == pod_group for row in self.rows.pod_groups
        )

    def is_stored(self, pod_group: str, patches: Sequence[Patch]) -> bool:
        """Whether the row contains the patches."""
        row = self.stored_pod_group(pod_group) if self.has_object(pod_group) else None
        return row is not None and _patched(row, patches) == row

    def write(self, patches: Mapping[str, Sequence[Patch]]) -> list[str]:
        """Write patches to the rows."""
        errors: list[str] = []
        for uid in filter(self.has_object, patches):
            if self.is_stored(uid, patches[uid]):
                continue
            unknown = [patch for patch in patches[uid] if patch not in self._returned]
            assert not unknown, f"{uid} is patched before the server returned it"
            try:
                self.attempt(f"patch {uid}", partial(self._patch, uid, patches[uid]))
            except ClusterError as failure:
                errors.append(f"{uid}: {failure}")
        return errors

    def _patch(self, uid: str, patches: Sequence[Patch]) -> None:
        row = self.stored_pod_group(uid)
        row.CopyFrom(_patched(row, patches))

    def report(self, response: DecideResponse, entries: Iterable[JournalEntry]) -> None:
        """Keep the last outcome of each pod group."""
        self.outcomes.update({outcome.pod_group: outcome for outcome in response.outcomes})

    def load(self) -> bytes:
        """The stored content."""
        self._loaded_version = self._version
        return self.content

    def save(self, content: bytes) -> None:
        """Replace the content."""
        before = self._stored().entries.keys()
        self.attempt("save", lambda: self._replace(content))
        closed = before - self._stored().entries.keys()
        assert not closed & self._unreported, f"{closed} left the journal before results were reported"

    def _replace(self, content: bytes) -> None:
        if self._version != self._loaded_version:
            raise JournalConflict("another adapter replaced the journal")
        self._version += 1
        self._loaded_version, self.content = self._version, content

    def may_act(self) -> bool:
        """Whether the adapter leads."""
        return self.is_leader and not self.is_dead

    def send_report(self, client: Client, request: ReportResultsRequest) -> ReportResultsResponse:
        """Send a report, which counts as a write. Its groups may leave the journal."""
        responses: list[ReportResultsResponse] = []
        self.attempt("report", lambda: responses.append(client.report_results(request)))
        self._unreported -= {report.group.id for report in request.groups}
        self._returned += [due.patch for status in responses[0].groups for due in status.patches]
        return responses[0]

    def _copy_rows(self) -> pb.ClusterSnapshot:
        with self._writing:
            return deepcopy(self.rows)

    def _require_alive(self) -> None:
        if self.is_dead:
            raise AdapterKilled

    def attempt(self, name: str, effect: Callable[[], None]) -> ApplyResult:
        """Carry out a write, unless the adapter is dead or dies before, or a failure is due."""
        with self._writing:
            self._require_alive()
            if not self.is_leader:
                raise LeaseLost
            self.writes += 1
            self.attempts[name] += 1
            is_killed = self.writes == self._kill.write
            if is_killed and not self._kill.after:
                self.is_dead = True
                raise AdapterKilled
            failure = next((one for one in self.failures if name.startswith(one[0])), None)
            if failure is not None:
                self.failures.remove(failure)
                if isinstance(failure[1], ApplyResult):
                    return failure[1]
                raise failure[1]
            effect()
            self.calls.append(name)
            if is_killed:
                self.is_dead = True
                raise AdapterKilled
            return APPLIED

    def _stored(self) -> Journal:
        return unpack_journal(self.content, self.name)


class FakeAdapter:
    """An adapter on a FakeScheduler."""

    def __init__(self, scheduler: FakeScheduler, client: Client) -> None:
        self._scheduler, self._client = scheduler, client
        self._session = StateSession(client)
        self.journal = load_journal(scheduler)
        finished = scheduler.take_finished
        ports = ClusterPorts(scheduler, scheduler, scheduler, scheduler, take_finished=finished)
        self.reconciler = Reconciler(
            ports, self._report, self._session, self.journal, scheduler, scheduler.now
        )

    @property
    def groups_in_flight(self) -> int:
        """Number of decision groups in the journal."""
        return len(self.journal.entries)

    def reconcile(self) -> None:
        """Reconcile once."""
        self.reconciler.run_once()

    def close(self) -> None:
        """Release threads and streams."""
        self.reconciler.close()
        self._session.close()

    def _report(self, request: ReportResultsRequest) -> ReportResultsResponse:
        return self._scheduler.send_report(self._client, request)


def _patched(row: pb.PodGroup, patches: Iterable[Patch]) -> pb.PodGroup:
    pending = PendingPatches()
    for patch in patches:
        pending.add(patch)
    return pending.applied_to(row)
