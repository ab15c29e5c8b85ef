"""All that is under way and to be remembered, in memory. The store keeps a copy that survives the process."""

from collections.abc import Iterable, Iterator
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.integration.journal_entry import EntryEvent, JournalEntry
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.kubernetes.pending_annotations import PendingAnnotations, annotation_of, is_older
from tenure.v1.decision_pb2 import (
    IN_FLIGHT_GROUP_STATE_EXPIRED,
    IN_FLIGHT_GROUP_STATE_IN_FLIGHT,
    IN_FLIGHT_GROUP_STATE_UNSPECIFIED,
    InFlightGroupStatus,
    Patch,
)
from tenure.v1.report_pb2 import GROUP_STATE_CANCELLED, GroupReport, GroupStatus, PatchToStore
from tenure.v1.snapshot_pb2 import EvictionRecord

RETENTION_SECONDS: Final = 86_400.0
"""How long something about a pod group that is gone is kept: it may be between two pods."""
_IN_FLIGHT_STATES: Final = (IN_FLIGHT_GROUP_STATE_IN_FLIGHT, IN_FLIGHT_GROUP_STATE_UNSPECIFIED)
Pair = tuple[str, str]


class Journal:
    """For one thread, but steps of entries may be noted by several, one thread for each entry."""

    def __init__(self) -> None:
        self.entries: dict[str, JournalEntry] = {}
        self.eviction_history: dict[Pair, EvictionRecord] = {}
        self.pending_annotations: dict[str, PendingAnnotations] = {}
        self.changed_pod_groups: set[str] = set()
        """Uids of pod groups whose rows are others than before."""
        self.is_changed = False
        """Whether the store has less than this."""

    def add(self, entries: Iterable[JournalEntry]) -> None:
        """Take up groups. One that is known by its id goes on as it is."""
        for entry in entries:
            self.entries.setdefault(entry.id, entry)
            self.is_changed = True

    def remove(self, entries: Iterable[JournalEntry]) -> None:
        """Remove groups of which nothing was sent."""
        for entry in entries:
            self.entries.pop(entry.id, None)

    def update_states(self, statuses: Iterable[InFlightGroupStatus]) -> None:
        """What the server says of groups in flight: those that do not go on are taken no further."""
        for status in statuses:
            entry = self.entries.get(status.id)
            if entry is not None and status.state not in _IN_FLIGHT_STATES:
                has_expired = status.state == IN_FLIGHT_GROUP_STATE_EXPIRED
                entry.handle(EntryEvent.EXPIRED if has_expired else EntryEvent.DROPPED)
                self.is_changed = True
        for entry in [entry for entry in self.entries.values() if entry.is_closed]:
            del self.entries[entry.id]

    def unreported(self) -> list[JournalEntry]:
        """Entries with results that the server lacks."""
        return [entry for entry in self.entries.values() if entry.is_unreported]

    def reports(self, entries: Iterable[JournalEntry]) -> Iterator[GroupReport]:
        """What became of groups, with what is remembered of the pairs they are about."""
        for entry in entries:
            report = entry.report()
            pairs = {
                (decision.patch.set_eviction_record.victim, decision.patch.set_eviction_record.preemptor)
                for decision in entry.group.decisions
                if decision.patch.HasField("set_eviction_record")
            }
            report.eviction_history.extend(
                self.eviction_history[pair] for pair in sorted(pairs & self.eviction_history.keys())
            )
            yield report

    def apply_status(self, status: GroupStatus, builder: SnapshotBuilder, now_seconds: float) -> None:
        """Do what the server says of a group that was reported."""
        entry = self.entries.get(status.id)
        if entry is None:
            return
        is_cancelled = status.state == GROUP_STATE_CANCELLED
        entry.handle(EntryEvent.CANCELLED if is_cancelled else EntryEvent.REPORTED)
        for due in status.patches:
            self._store(entry, due, builder, now_seconds)
        self.is_changed = True
        if entry.is_closed:
            del self.entries[entry.id]

    def discard_obsolete(
        self, builder: SnapshotBuilder, shown: dict[str, dict[str, str]], now_seconds: float
    ) -> None:
        """Let go of what is gone, and of notes that objects show by now: `shown`, annotations by uid."""
        for uid, note in list(self.pending_annotations.items()):
            if builder.pod_group(uid) is not None:
                note.last_seen_seconds = now_seconds
            is_shown = note.annotations.items() <= shown.get(uid, {}).items()
            is_gone = note.last_seen_seconds < now_seconds - RETENTION_SECONDS
            if is_gone or (note.has_object and is_shown):
                del self.pending_annotations[uid]
                self.changed_pod_groups.add(uid)
                self.is_changed = True
        for pair, row in list(self.eviction_history.items()):
            if is_older(_latest(row), now_seconds - RETENTION_SECONDS) and None in map(
                builder.pod_group, pair
            ):
                del self.eviction_history[pair]
                self.is_changed = True

    def _store(
        self, entry: JournalEntry, due: PatchToStore, builder: SnapshotBuilder, now_seconds: float
    ) -> None:
        if due in entry.stored_patches:
            return
        entry.stored_patches.append(due)
        self._store_patch(due.patch, builder, now_seconds)

    def _store_patch(self, patch: Patch, builder: SnapshotBuilder, now_seconds: float) -> None:
        match patch.WhichOneof("change"):
            case "set_eviction_record":
                self.eviction_history[
                    patch.set_eviction_record.victim, patch.set_eviction_record.preemptor
                ] = patch.set_eviction_record
            case "delete_eviction_record":
                self.eviction_history.pop((patch.pod_group, patch.delete_eviction_record), None)
        written = annotation_of(patch)
        if written is not None:
            note = self.pending_annotations.setdefault(patch.pod_group, PendingAnnotations())
            note.last_seen_seconds = now_seconds
            note.has_object = builder.subject(patch.pod_group) is not None
            note.annotations[written[0]] = written[1]
            self.changed_pod_groups.add(patch.pod_group)


def _latest(row: EvictionRecord) -> Timestamp:
    return max(row.last_eviction_time, row.last_failure_time, key=Timestamp.ToNanoseconds)
