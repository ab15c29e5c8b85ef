"""One round: what changed is told, a decision asked for, carried out, and what became of it reported.

    observe      rows of the picture and of the ledger, as a delta; after any doubt as a whole snapshot
    decide       what the server says of groups in flight is done first: what it lets go is not taken further
    remember     the ledger with the new groups is stored       <- a crash before: nothing was sent
    apply        evictions, bindings                            <- a crash: the ledger names them
    report       the server says what to store of each group    <- a crash: reported after the start,
                                                                   with what is seen done
    remember     the ledger with what became of the steps and what is to be stored; then annotations

A step that was sent, but whose answer nobody knows any more, is looked up before it is sent again. A group
that was reported twice is counted once by the server. An annotation that was not written stays noted.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.client import Client
from tenure.client.session import StateSession
from tenure.integration.backoff import Backoff
from tenure.integration.journal_entry import JournalEntry
from tenure.kubernetes import telemetry
from tenure.kubernetes.api.api_errors import ApiError, LeaseLost
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.apply.annotations import AnnotationWriter
from tenure.kubernetes.apply.applier import Applier
from tenure.kubernetes.apply.status_writer import StatusWriter
from tenure.kubernetes.journal import Journal
from tenure.kubernetes.journal_rows import JournalRows
from tenure.kubernetes.journal_store import JournalFull, JournalStore
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.kubernetes.settings import AdapterSettings
from tenure.kubernetes.telemetry import ANNOTATIONS_PENDING, IN_FLIGHT, RETRYING, reconcile_span, span
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.report_pb2 import GROUP_STATE_CONFLICT, ReportResultsRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta

_LOG: Final = logging.getLogger(__name__)
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
_ANNOTATE_PAUSE: Final = 10.0
MAX_IN_FLIGHT: Final = 8_000
"""Groups at a time: a server takes 10,000 with a snapshot, unless it is told otherwise."""
Clock = Callable[[], Timestamp]


class Reconciler:
    """Carries out one round after the other, for one thread. Raises what its parts raise."""

    def __init__(
        self,
        settings: AdapterSettings,
        client: Client,
        session: StateSession,
        caches: ObjectCaches,
        builder: SnapshotBuilder,
        journal: Journal,
        store: JournalStore,
        applier: Applier,
        annotations: AnnotationWriter,
        status_writer: StatusWriter,
        now: Clock,
    ) -> None:
        self._settings, self._client, self._session = settings, client, session
        self._caches, self._builder = caches, builder
        self._journal, self._store = journal, store
        self._rows = JournalRows(journal, builder)
        self._applier, self._annotation_writer, self._status_writer = applier, annotations, status_writer
        self._now = now
        self._is_synced = False
        """Whether the session holds what the picture told last. False: everything is sent again."""
        self._recheck_at: float | None = None
        """When time alone may change the answer, in seconds since 1970."""
        self._has_unfinished_work = False
        """Whether a decision was asked for and something kept it from being carried out to the end."""
        self._annotate_at: float | None = None
        """When annotations that could not be written are tried again, in seconds since 1970."""
        self._backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        """Rounds in a row in which the cluster refused something of new groups, or a group was left out."""

    @property
    def next_reconcile_seconds(self) -> float | None:
        """When the next round is due though nothing changes, in seconds since 1970; None: never."""
        retries = (entry.retry_seconds() for entry in self._journal.entries.values())
        times = [moment for moment in retries if moment is not None]
        own = (self._recheck_at, self._annotate_at, self._builder.recheck_seconds)
        times += [moment for moment in own if moment is not None]
        return min(times, default=None)

    def run_once(self) -> bool:
        """One round; whether a decision was asked for.

        Raises TenureError, ApiError, JournalFull and LeaseLost; the next one goes on.
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
        """Show what is left to be done."""
        IN_FLIGHT.set(len(self._journal.entries))
        RETRYING.set(sum(entry.retry_seconds() is not None for entry in self._journal.entries.values()))
        ANNOTATIONS_PENDING.set(sum(note.has_object for note in self._journal.pending_annotations.values()))

    def _observe(self, now: Timestamp) -> bool:
        """Tell the server what changed; whether anything did. If that fails, all is told in the next one."""
        with span(telemetry.OBSERVE):
            was_in_step, self._is_synced = self._is_synced, False
            seen = self._builder.delta(now) if was_in_step else self._builder.snapshot(now)
            for warned in self._builder.warnings.take_new():
                _LOG.warning("%s: %s", warned.subject, warned.text)
            self._discard_obsolete(now)
            self._applier.detect_applied(self._journal.entries.values())
            self._report_if_it_fits()
            has_changed = self._send(seen)
            self._is_synced = True
            return has_changed

    def _send(self, seen: ClusterSnapshot | StateDelta) -> bool:
        if isinstance(seen, ClusterSnapshot):
            self._rows.complete(seen)
            self._session.push(seen)
            return True
        self._rows.extend(seen)
        if _is_empty(seen):
            return False
        self._session.apply(seen)
        return True

    def _is_due(self, now: Timestamp) -> bool:
        due = self.next_reconcile_seconds
        return self._has_unfinished_work or (due is not None and now.ToNanoseconds() >= due * 1e9)

    def _decide(self, now: Timestamp) -> DecideResponse:
        with span(telemetry.DECIDE):
            self._is_synced = False
            answer = self._session.decide(now=now)
            self._is_synced = True
        wakes = answer.HasField("next_wake_time")
        self._recheck_at = answer.next_wake_time.ToNanoseconds() / 1e9 if wakes else None
        return answer

    def _apply(self, response: DecideResponse) -> None:
        """Take the steps. What fails is decided anew in the next round, though nothing else changes."""
        self._has_unfinished_work = True
        self._journal.update_states(response.in_flight_group_statuses)
        wanted = [JournalEntry(group) for group in response.groups if group.id not in self._journal.entries]
        new = self._add_entries(wanted)
        self._save_journal(new)
        self._applier.apply(list(self._journal.entries.values()))
        self._schedule_recheck(len(new) < len(wanted) or any(entry.is_stopped for entry in new))
        self._status_writer.update(response, self._journal.entries.values(), self._builder)
        self._report()
        self._has_unfinished_work = False

    def _add_entries(self, entries: Sequence[JournalEntry]) -> list[JournalEntry]:
        """Add new groups to the ledger, in order, as many as server and ledger can hold; which these are.

        Those that keep a promise go first: it would be forgotten. One alone may take the whole ledger.
        """
        first = sorted(entries, key=lambda entry: not entry.group.fulfills_group_id)
        new = first[: max(MAX_IN_FLIGHT - len(self._journal.entries), 0)]
        least = 0 if self._journal.entries else 1
        self._applier.check(new)
        self._journal.add(new)
        while len(new) > least and not self._store.fits(self._journal):
            self._journal.remove(new[len(new) // 2 :])
            new = new[: len(new) // 2]
        return new

    def _schedule_recheck(self, is_unfinished: bool) -> None:
        """What was refused or left out is decided anew, later each time, though nothing else changes."""
        if not is_unfinished:
            self._backoff.reset()
            return
        again = self._now().ToNanoseconds() / 1e9 + self._backoff.fail()
        self._recheck_at = again if self._recheck_at is None else min(self._recheck_at, again)

    def _save_journal(self, new: Sequence[JournalEntry]) -> None:
        """Store the ledger before anything is sent; without that nothing of the new groups is."""
        if not self._journal.is_changed:
            return
        with span(telemetry.JOURNAL, groups=len(new)):
            try:
                self._store.save(self._journal)
            except (ApiError, JournalFull, LeaseLost):
                self._journal.remove(new)
                raise

    def _report_if_it_fits(self) -> None:
        """Report. What objects show and what is decided next make room in a ledger that is too large."""
        try:
            self._report()
        except JournalFull:
            self._annotate()
            self._has_unfinished_work = True

    def _report(self) -> None:
        """Tell what became of steps; store what the server says is to be stored."""
        self._annotate_at = None
        entries = self._journal.unreported()
        if not (entries or self._journal.is_changed or self._journal.pending_annotations):
            return
        with span(telemetry.REPORT, groups=len(entries)):
            self._report_results(entries)
            if self._journal.is_changed:
                self._store.save(self._journal)
            self._annotate()

    def _report_results(self, entries: Sequence[JournalEntry]) -> None:
        if entries:
            reports, now = self._journal.reports(entries), self._now()
            request = ReportResultsRequest(
                cluster_id=self._settings.cluster_id,
                node_pool=self._settings.node_pool,
                now=now,
                groups=reports,
            )
            for verdict in self._client.report_results(request).groups:
                if verdict.state == GROUP_STATE_CONFLICT:
                    _LOG.warning("Group %s was reported otherwise before: %s", verdict.id, verdict.message)
                self._journal.apply_status(verdict, self._builder, now.ToNanoseconds() / 1e9)

    def _annotate(self) -> None:
        subjects = (
            (self._builder.subject(uid), note) for uid, note in self._journal.pending_annotations.items()
        )
        due = [(subject, note) for subject, note in subjects if subject is not None]
        for subject, problem in self._annotation_writer.write(due):
            _LOG.warning("%s/%s is not annotated yet: %s", subject.namespace, subject.name, problem)
            self._annotate_at = self._now().ToNanoseconds() / 1e9 + _ANNOTATE_PAUSE

    def _discard_obsolete(self, now: Timestamp) -> None:
        shown = {}
        for uid in self._journal.pending_annotations:
            item = self._caches.kai_pod_groups.find(uid) or self._caches.volcano_pod_groups.find(uid)
            if item is not None:
                shown[uid] = item.metadata.annotations
        self._journal.discard_obsolete(self._builder, shown, now.ToNanoseconds() / 1e9)
        self._annotation_writer.retain(set(self._journal.pending_annotations))


def _is_empty(delta: StateDelta) -> bool:
    return not delta.upserts.ByteSize() and not delta.removals.ByteSize()
