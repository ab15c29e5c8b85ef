"""One reconcile: observe, decide, journal, apply, report, journal, annotate.

    observe    send changed rows as a delta, or a full snapshot after any error
    decide     request decisions; groups that the server dropped are not applied further
    journal    store the new groups             <- crash before: nothing was sent
    apply      evictions, then bindings         <- crash: the journal names everything that may have been sent
    report     the response has the patches     <- crash: the next reconcile reports the results again
    journal    store results and patches        <- crash: reported again; the server counts a result once
    annotate   store patches in the cluster     <- crash: they stay in the journal until they are visible

This order is the contract: nothing is sent before the journal contains it, and nothing leaves the journal
before it was reported.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.delta_stream import OnSetAside
from tenure.client.session import StateSession
from tenure.integration import telemetry
from tenure.integration.applier import GroupApplier
from tenure.integration.journal import Journal
from tenure.integration.journal_entry import JournalEntry
from tenure.integration.journal_format import pack_journal
from tenure.integration.journal_rows import JournalRows
from tenure.integration.ports import (
    BindingPreparer,
    ClusterSource,
    DecisionApplier,
    FinishedRun,
    JournalFull,
    JournalStore,
    PatchWriter,
    StatusWriter,
)
from tenure.integration.telemetry import ANNOTATIONS_PENDING, IN_FLIGHT, RETRYING, reconcile_span, span
from tenure.integration.timing import Backoff
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import DecisionGroup, Patch
from tenure.v1.report_pb2 import GROUP_STATE_CONFLICT, ReportResultsRequest, ReportResultsResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta

_LOG: Final = logging.getLogger(__name__)
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
_PATCH_PAUSE: Final = 10.0
MAX_IN_FLIGHT: Final = 8_000
"""Maximum number of groups in the journal: a server accepts 10,000 with a snapshot by default."""
NEW_GROUPS_SHARE: Final = 0.7
"""Part of `JournalStore.max_bytes` that new groups may fill; the rest is for their results."""
RUNTIMES_SHARE: Final = 0.05
"""Part of it that runtimes of what finished may fill."""


@dataclass(frozen=True, slots=True)
class ClusterPorts:
    """The ports of an observed cluster."""

    source: ClusterSource
    applier: DecisionApplier
    patches: PatchWriter
    status: StatusWriter
    preparer: BindingPreparer | None = None
    """None: pods can be bound at once."""
    on_set_aside: OnSetAside | None = None
    """Called with the rows that the server set aside. None: it refuses a snapshot with an invalid row."""
    estimate_interval: float | None = None
    """Seconds after which a decision tells again when pod groups start (semantics R17.24). None: never."""
    find_refusals: Callable[[Sequence[DecisionGroup]], Mapping[str, str]] | None = None
    """Returns why new groups are not accepted, by id: the cluster would not start their beneficiary. Nothing
    of them is applied. Raises ClusterError and LeaseLost. None: all are accepted."""
    take_finished: Callable[[], Sequence[FinishedRun]] | None = None
    """Returns what finished, as the source observed it since the last call. None: runtimes are not noted."""


class Reconciler:
    """Runs reconciles, in one thread. Raises the errors of its parts."""

    def __init__(
        self,
        cluster: ClusterPorts,
        report_results: Callable[[ReportResultsRequest], ReportResultsResponse],
        session: StateSession,
        journal: Journal,
        store: JournalStore,
        now: Callable[[], Timestamp],
    ) -> None:
        self._cluster, self._report_to_server, self._session = cluster, report_results, session
        self._journal, self._store = journal, store
        self._rows = JournalRows(journal, cluster.source)
        self._applier = GroupApplier(cluster.applier, now, cluster.preparer)
        self._now = now
        self._shard = ("", "")
        """Cluster ID and node pool of the last snapshot."""
        self._is_synced = False
        """Whether the session holds what the source returned last. False: the next one is a snapshot."""
        self._recheck_at: float | None = None
        """When time alone may change the decisions, in seconds since 1970."""
        self._estimated_at: float | None = None
        """Time of the last decision with estimates, in seconds since 1970."""
        self._has_unfinished_work = False
        """Whether decisions were requested and not applied to the end."""
        self._patch_at: float | None = None
        """When failed writes of patches are retried, in seconds since 1970."""
        self._backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        """Consecutive reconciles in which a decision failed for good, or a new group did not fit."""

    @property
    def next_reconcile_seconds(self) -> float | None:
        """When the next reconcile is due without a change, in seconds since 1970. None: never."""
        retries = (entry.retry_seconds() for entry in self._journal.entries.values())
        times = [moment for moment in retries if moment is not None]
        own = (self._recheck_at, self._patch_at, self._cluster.source.recheck_seconds)
        times += [moment for moment in own if moment is not None]
        return min(times, default=None)

    def close(self) -> None:
        """Wait for running calls; later ones do not start."""
        self._applier.close()

    def run_once(self) -> bool:
        """Reconcile once. Returns whether decisions were requested.

        Raises TenureError, ClusterError, JournalFull, JournalConflict and LeaseLost. After each of them but
        JournalConflict the next call continues.
        """
        try:
            with reconcile_span():
                now = self._now()
                is_due = self._is_due(now)
                has_reason = self._observe(now) or is_due
                if has_reason:
                    self._apply(self._decide(now))
                return has_reason
        finally:
            self._measure()

    def _measure(self) -> None:
        IN_FLIGHT.set(len(self._journal.entries))
        RETRYING.set(sum(entry.retry_seconds() is not None for entry in self._journal.entries.values()))
        ANNOTATIONS_PENDING.set(sum(map(self._cluster.patches.has_object, self._journal.pending_patches)))

    def _observe(self, now: Timestamp) -> bool:
        """Send changes to the server. Returns whether there were any."""
        with span(telemetry.OBSERVE):
            was_synced, self._is_synced = self._is_synced, False
            source = self._cluster.source
            rows = source.delta(now) if was_synced else source.snapshot(now)
            if isinstance(rows, ClusterSnapshot):
                self._shard = rows.cluster_id, rows.node_pool
            if self._cluster.take_finished is not None:
                max_bytes = int(RUNTIMES_SHARE * self._store.max_bytes)
                self._journal.note_finished(self._cluster.take_finished(), max_bytes)
            self._journal.discard_obsolete(source, self._cluster.patches, now.ToNanoseconds() / 1e9)
            self._applier.detect_applied(self._journal.entries.values())
            for entry in self._journal.entries.values():
                entry.give_up_late_notices(now)
            self._report_if_it_fits()
            has_changed = self._send(rows)
            self._is_synced = True
            return has_changed

    def _send(self, rows: ClusterSnapshot | StateDelta) -> bool:
        if isinstance(rows, ClusterSnapshot):
            self._rows.complete(rows)
            self._session.push(rows)
            return True
        self._rows.extend(rows)
        if _is_empty(rows):
            return False
        self._session.apply(rows)
        return True

    def _is_due(self, now: Timestamp) -> bool:
        due = self.next_reconcile_seconds
        return self._has_unfinished_work or (due is not None and now.ToNanoseconds() >= due * 1e9)

    def _decide(self, now: Timestamp) -> DecideResponse:
        with span(telemetry.DECIDE):
            self._is_synced = False
            response = self._session.decide(now=now, estimate_starts=self._wants_estimates(now))
            self._is_synced = True
        wakes = response.HasField("next_wake_time")
        self._recheck_at = response.next_wake_time.ToNanoseconds() / 1e9 if wakes else None
        return response

    def _wants_estimates(self, now: Timestamp) -> bool:
        """Whether the interval since the last estimates is over."""
        time, last = now.ToNanoseconds() / 1e9, self._estimated_at
        interval = self._cluster.estimate_interval
        if interval is None or (last is not None and time < last + interval):
            return False
        self._estimated_at = time
        return True

    def _apply(self, response: DecideResponse) -> None:
        """Apply decisions. After an error the next reconcile decides again, even without a change."""
        self._has_unfinished_work = True
        self._journal.update_states(response.in_flight_group_statuses)
        known_failures = self._journal.failed_decisions()
        wanted = [JournalEntry(group) for group in response.groups if group.id not in self._journal.entries]
        new = self._add_entries(wanted)
        self._journal.store_state(response, bool(new))
        self._save_new(new)
        self._applier.apply(list(self._journal.entries.values()))
        has_failed = not self._journal.failed_decisions() <= known_failures
        self._schedule_recheck(has_failed or len(new) < len(wanted))
        self._cluster.status.report(response, self._journal.entries.values())
        self._report()
        self._has_unfinished_work = False

    def _add_entries(self, entries: Sequence[JournalEntry]) -> list[JournalEntry]:
        """Add as many new groups as server and journal can hold, and return them.

        Groups that fulfill a reservation come first: the reservation would be lost. If the journal is empty,
        one group may exceed the share of new groups.
        """
        first = sorted(entries, key=lambda entry: not entry.group.fulfills_group_id)
        new = first[: max(MAX_IN_FLIGHT - len(self._journal.entries), 0)]
        least = 0 if self._journal.entries else 1
        self._applier.check(new)
        self._refuse(new)
        self._journal.add(new)
        max_bytes = NEW_GROUPS_SHARE * self._store.max_bytes
        while len(new) > least and len(pack_journal(self._journal)) > max_bytes:
            self._journal.remove(new[len(new) // 2 :])
            new = new[: len(new) // 2]
        return new

    def _refuse(self, new: Sequence[JournalEntry]) -> None:
        """Let the decisions of groups fail that the cluster would not carry out to the end."""
        if self._cluster.find_refusals is not None:
            refusals = self._cluster.find_refusals([entry.group for entry in new if not entry.is_stopped])
            for entry in new:
                if why := refusals.get(entry.id):
                    self._applier.refuse(entry, why)

    def _schedule_recheck(self, is_incomplete: bool) -> None:
        """Decide again after decisions that failed and groups that did not fit, with doubling pauses."""
        if not is_incomplete:
            self._backoff.reset()
            return
        again = self._now().ToNanoseconds() / 1e9 + self._backoff.fail()
        self._recheck_at = again if self._recheck_at is None else min(self._recheck_at, again)

    def _save_new(self, new: Sequence[JournalEntry]) -> None:
        """Store the journal before anything is sent. After an error the new groups are not applied."""
        if not self._journal.is_changed:
            return
        with span(telemetry.JOURNAL, groups=len(new)):
            try:
                self._save()
            except Exception:
                self._journal.remove(new)
                raise

    def _save(self) -> None:
        content = pack_journal(self._journal)
        if len(content) > self._store.max_bytes:
            raise JournalFull
        self._store.save(content)
        self._journal.is_changed = False

    def _report_if_it_fits(self) -> None:
        """Report. A journal that is too large shrinks through stored patches and the next decisions."""
        try:
            self._report()
        except JournalFull:
            self._write_patches()
            self._has_unfinished_work = True

    def _report(self) -> None:
        """Report results, store the patches of the response, and write them to the cluster."""
        self._patch_at = None
        entries = self._journal.unreported()
        if not (entries or self._journal.is_changed or self._journal.pending_patches):
            return
        with span(telemetry.REPORT, groups=len(entries)):
            self._report_results(entries)
            if self._journal.is_changed:
                self._save()
            self._write_patches()

    def _report_results(self, entries: Sequence[JournalEntry]) -> None:
        if not entries:
            return
        now, (cluster_id, node_pool) = self._now(), self._shard
        reports = self._journal.reports(entries)
        request = ReportResultsRequest(cluster_id=cluster_id, node_pool=node_pool, now=now, groups=reports)
        for status in self._report_to_server(request).groups:
            if status.state == GROUP_STATE_CONFLICT:
                _LOG.warning("Group %s contradicts an earlier report: %s", status.id, status.message)
            self._journal.apply_status(status, now.ToNanoseconds() / 1e9)

    def _write_patches(self) -> None:
        pending: dict[str, Sequence[Patch]] = {
            uid: [*one.patches.values()] for uid, one in self._journal.pending_patches.items()
        }
        for error in self._cluster.patches.write(pending):
            _LOG.warning("Cannot store fields of a pod group, retrying: %s", error)
            self._patch_at = self._now().ToNanoseconds() / 1e9 + _PATCH_PAUSE


def _is_empty(delta: StateDelta) -> bool:
    return not delta.upserts.ByteSize() and not delta.removals.ByteSize()
