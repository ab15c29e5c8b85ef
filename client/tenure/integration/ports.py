"""Ports: what an adapter implements for its scheduler. The kit owns the loop and the order of effects.

    ClusterSource     the observed cluster as rows of a snapshot, and their changes
    DecisionApplier   evictions and bindings
    BindingPreparer   what comes before a binding, such as volumes; optional
    PatchWriter       fields of pod groups that the server computes, such as the eviction count
    StatusWriter      outcomes, for users
    JournalStore      bytes that survive the process
    Leadership        which of several adapters may write

Methods are called from the thread that reconciles, with two exceptions: `apply` and `look_up` of
DecisionApplier are called from several threads, `may_act` from any thread.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.integration.journal_entry import JournalEntry
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import Decision, Patch
from tenure.v1.report_pb2 import (
    APPLY_STATUS_APPLIED,
    APPLY_STATUS_FAILED,
    APPLY_STATUS_PRECONDITION_FAILED,
    ApplyStatus,
)
from tenure.v1.snapshot_pb2 import ClusterSnapshot, Pod, PodGroup, Queue
from tenure.v1.state_pb2 import StateDelta
from tenure.wire.deltas import compute_delta


class ClusterError(Exception):
    """A call to the cluster failed; a later reconcile retries. The message names the call."""


class LeaseLost(Exception):
    """Nothing was sent, because another adapter may lead now."""

    metric_label: Final = "not_sent"


class JournalConflict(Exception):
    """Another adapter replaced the journal. The leadership term ends; the next one reads it again."""


class JournalFull(Exception):
    """The journal exceeds `JournalStore.max_bytes`. Nothing was written."""


class JournalUnreadable(Exception):
    """The stored journal cannot be read. The message names it and the fix."""


class ApplyResult(NamedTuple):
    """Result of one attempt to apply a decision."""

    status: ApplyStatus
    detail: str = ""
    """Why the decision was not applied, with the message of the cluster."""
    is_retryable: bool = False
    """Status FAILED: whether a later attempt may succeed."""
    retry_after: float | None = None
    """Seconds to wait before the next attempt. None: the kit chooses, doubling up to five minutes."""

    @property
    def metric_label(self) -> str:
        """Value of the metric label `result`."""
        return "retry" if self.is_retryable else _METRIC_LABELS[self.status]


_METRIC_LABELS: Final[Mapping[ApplyStatus, str]] = {
    APPLY_STATUS_APPLIED: "applied",
    APPLY_STATUS_PRECONDITION_FAILED: "precondition_failed",
    APPLY_STATUS_FAILED: "failed",
}
APPLIED: Final = ApplyResult(APPLY_STATUS_APPLIED)


def precondition_failed(why: str) -> ApplyResult:
    """A precondition of the decision does not hold."""
    return ApplyResult(APPLY_STATUS_PRECONDITION_FAILED, why)


def failed(why: str) -> ApplyResult:
    """The cluster rejected the decision, and a retry would not help."""
    return ApplyResult(APPLY_STATUS_FAILED, why)


def retry(why: str, after: float | None = None) -> ApplyResult:
    """The decision was not applied; a later attempt may succeed. `after` is in seconds."""
    return ApplyResult(APPLY_STATUS_FAILED, why, is_retryable=True, retry_after=after)


class FinishedRun(NamedTuple):
    """A pod group that finished by itself: it was not evicted, cancelled or ended for a failure."""

    queue: str
    gpu_milli: int
    """What all its pods requested together, in thousandths of a GPU."""
    seconds: int
    """How long it ran, from the start of its first pod to the end of its last one."""
    end_seconds: int
    """When it finished, in seconds since 1970."""


class EvictionBudget(NamedTuple):
    """A limit for evictions of certain pods, such as a disruption budget."""

    name: str
    left: int | None
    """Number of evictions that it permits now. None: only the cluster knows."""


class ClusterSource(Protocol):
    """Rows of the observed cluster, without in-flight groups and eviction history: the kit adds these."""

    def snapshot(self, now: Timestamp) -> ClusterSnapshot:
        """All rows. The snapshot has `cluster_id`, `node_pool`, `version` and `now`."""

    def delta(self, now: Timestamp) -> StateDelta:
        """Rows that changed since the last snapshot or delta; empty if none did."""

    def pod_group(self, uid: str) -> PodGroup | None:
        """Row of a pod group as last returned; None if there is none. The kit does not change it."""

    @property
    def recheck_seconds(self) -> float | None:
        """When rows may change through time alone, in seconds since 1970. None: never."""


class SnapshotSource:
    """A ClusterSource for schedulers that list everything each time. Implements SentRows, too.

    `observe` returns all rows as they are now, without version and time. Deltas are the differences of two
    lists; they cost time proportional to the cluster.
    """

    recheck_seconds: float | None = None

    def __init__(self, observe: Callable[[], ClusterSnapshot]) -> None:
        self._observe = observe
        self._last = ClusterSnapshot()
        self._pod_groups: dict[str, PodGroup] = {}
        self._pods: dict[str, Pod] = {}
        self._queues: dict[str, Queue] = {}
        self._nodes = frozenset[str]()

    def snapshot(self, now: Timestamp) -> ClusterSnapshot:
        """All rows."""
        rows = self._observe()
        rows.version = self._last.version + 1
        rows.now.CopyFrom(now)
        self._last, self._pod_groups = rows, {row.uid: row for row in rows.pod_groups}
        self._pods = {row.uid: row for row in rows.pods}
        self._queues = {row.name: row for row in rows.queues}
        self._nodes = frozenset(row.name for row in rows.nodes)
        copy = ClusterSnapshot()
        copy.CopyFrom(rows)
        return copy

    def delta(self, now: Timestamp) -> StateDelta:
        """Changed rows."""
        before = self._last
        return compute_delta(before, self.snapshot(now))

    def pod_group(self, uid: str) -> PodGroup | None:
        """Row of a pod group."""
        return self._pod_groups.get(uid)

    def pod(self, uid: str) -> Pod | None:
        """Row of a pod."""
        return self._pods.get(uid)

    def queue(self, name: str) -> Queue | None:
        """Row of a queue."""
        return self._queues.get(name)

    def has_node(self, name: str) -> bool:
        """Whether a node has a row."""
        return name in self._nodes


class DecisionApplier(Protocol):
    """Applies evictions and bindings. Each write checks `Leadership.may_act` and raises LeaseLost.

    A decision is trusted no further than the rows that were sent (`tenure.integration.ownership`). Errors of
    the cluster are results, not exceptions.
    """

    def preconditions(self) -> Callable[[Decision], str]:
        """A check against the cluster as observed now: why a decision must not be applied, or "".

        The kit requests a check per pass and calls it for all decisions of a group before the first write.
        """

    def budgets(self) -> Callable[[Decision], Sequence[EvictionBudget]]:
        """A function that finds the budgets of the pod of an eviction, as observed now.

        The kit requests it per pass. A group that must be applied completely is not begun while a budget
        permits too few of its evictions. Evictions with a budget come first, a few of each budget at a time.
        """

    def is_visible(self, decision: Decision) -> bool:
        """Whether the observed cluster shows the effect of the decision."""

    def look_up(self, decision: Decision) -> ApplyResult | None:
        """Read the cluster for the effect of a decision that may have been sent before.

        Returns APPLIED if it has been applied, a failed precondition if it no longer can be, else None.
        """

    def apply(self, decision: Decision) -> ApplyResult:
        """Apply the decision once. A write without a response is looked up."""


class BindingPreparer(Protocol):
    """Does what must be done before pods are bound, and takes time: for example, binding volumes."""

    def prepare(self, groups: Sequence[Sequence[Decision]]) -> Mapping[str, ApplyResult | None]:
        """Begin or continue to prepare the bindings of all groups that have any left, at each pass.

        Returns the bindings that must not be sent now, by decision id: with a result if preparing failed, or
        None while it goes on. Of an all-or-nothing group, no pod is bound while there is one. Raises
        LeaseLost.
        """

    def close(self) -> None:
        """Wait for running calls; later ones do not start."""


class PatchWriter(Protocol):
    """Stores patches of pod groups in objects of the cluster, for example as annotations."""

    def has_object(self, pod_group: str) -> bool:
        """Whether an object can store patches of this pod group. Otherwise the journal stores them."""

    def is_stored(self, pod_group: str, patches: Sequence[Patch]) -> bool:
        """Whether the observed object contains all patches."""

    def write(self, patches: Mapping[str, Sequence[Patch]]) -> Sequence[str]:
        """Store the patches of all pod groups with an object. Returns errors that name the object.

        The kit passes all pending patches each time; each stays pending until `is_stored`. Raises LeaseLost.
        """


class StatusWriter(Protocol):
    """Publishes outcomes and results. Nothing else depends on it."""

    def report(self, response: DecideResponse, entries: Iterable[JournalEntry]) -> None:
        """Publish the outcomes and queues of a response, and the results of in-flight groups.

        Returns at once.
        """


class JournalStore(Protocol):
    """One stored value, replaced as a whole."""

    @property
    def name(self) -> str:
        """What stores it, for error messages, such as "ConfigMap NAMESPACE/NAME"."""

    @property
    def max_bytes(self) -> int:
        """Maximum length of the content. New decision groups may use 70 % of it."""

    def load(self) -> bytes:
        """The stored content; b"" if there is none. Raises ClusterError and JournalUnreadable."""

    def save(self, content: bytes) -> None:
        """Replace the content that this store loaded or saved last.

        Raises JournalConflict if another adapter replaced it, ClusterError and LeaseLost.
        """


class Leadership(Protocol):
    """Which of several adapters may write, for example the holder of a lease."""

    def may_act(self) -> bool:
        """Whether this adapter leads for long enough to send one more write. Checked before each write."""

    @property
    def term(self) -> int | None:
        """Number of the term of this adapter; None while another adapter leads.

        It stays the same while leadership is uncertain, and changes when another adapter led in between.
        """
