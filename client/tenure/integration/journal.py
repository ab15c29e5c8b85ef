"""The journal in memory: in-flight groups, the rows that callers carry, and patches to be written."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.integration.journal_entry import EntryEvent, JournalEntry
from tenure.integration.ports import ClusterSource, FinishedRun, PatchWriter
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import (
    IN_FLIGHT_GROUP_STATE_EXPIRED,
    IN_FLIGHT_GROUP_STATE_IN_FLIGHT,
    IN_FLIGHT_GROUP_STATE_UNSPECIFIED,
    InFlightGroupStatus,
    Patch,
)
from tenure.v1.report_pb2 import GROUP_STATE_CANCELLED, GroupReport, GroupStatus, PatchToStore
from tenure.v1.snapshot_pb2 import EvictionRecord, PodGroup, QueueRuntimes
from tenure.wire.carried import StoredRows
from tenure.wire.runtime_history import LONGEST_RUNTIME, add_runtime

RETENTION_SECONDS: Final = 86_400.0
"""How long data of a missing pod group is kept: it may be between two pods."""
_IN_FLIGHT_STATES: Final = (IN_FLIGHT_GROUP_STATE_IN_FLIGHT, IN_FLIGHT_GROUP_STATE_UNSPECIFIED)
_CLEARED_FIELDS: Final[Mapping[str, str]] = {"clear_stale_since": "stale_since"}
"""Fields of a pod group that a patch clears, by the change of the patch."""
Pair = tuple[str, str]
"""Uids of a victim and a preemptor."""


@dataclass(slots=True)
class PendingPatches:
    """Patches of one pod group that its object does not show yet."""

    patches: dict[str, Patch] = field(default_factory=dict)
    """The last patch of each field of the pod group."""
    last_seen_seconds: float = 0.0
    """When the pod group was last observed or patched, in seconds since 1970."""

    def add(self, patch: Patch) -> None:
        """Add a patch, in place of an earlier one of the same field."""
        self.patches[_field_of(patch)] = patch

    def applied_to(self, row: PodGroup) -> PodGroup:
        """A copy of a row with the patches."""
        patched = PodGroup()
        patched.CopyFrom(row)
        for name, patch in self.patches.items():
            patched.ClearField(name)
            if patch.WhichOneof("change") == name:
                patched.MergeFrom(PodGroup(**{name: getattr(patch, name)}))
        return patched


class Journal:
    """For one thread, except that several threads may add results, each to one entry."""

    def __init__(self) -> None:
        self.entries: dict[str, JournalEntry] = {}
        self.carried = StoredRows()
        self.pending_patches: dict[str, PendingPatches] = {}
        self.changed_pod_groups: set[str] = set()
        """Uids of pod groups whose pending patches changed since rows were last sent."""
        self.is_changed = False
        """Whether the stored copy is out of date."""

    def add(self, entries: Iterable[JournalEntry]) -> None:
        """Add groups. A group with a known id stays as it is."""
        for entry in entries:
            self.entries.setdefault(entry.id, entry)
            self.is_changed = True

    def remove(self, entries: Iterable[JournalEntry]) -> None:
        """Remove groups without sent decisions."""
        for entry in entries:
            self.entries.pop(entry.id, None)

    @property
    def eviction_history(self) -> dict[Pair, EvictionRecord]:
        """Eviction records, which decisions change."""
        return self.carried["eviction_history"]

    def store_state(self, response: DecideResponse, is_accepted: bool) -> None:
        """Store the state patches of a response; `is_accepted`: a decision group of it was accepted."""
        self.is_changed |= self.carried.store(response, is_accepted)

    def note_finished(self, runs: Sequence[FinishedRun], max_bytes: int) -> None:
        """Note how long pod groups ran that finished, for predictions (semantics R17.32).

        They are stored with the next change: a crash may lose the last ones. If the rows exceed `max_bytes`,
        those of the queues in which nothing finished for longest are dropped. A run that a server would
        refuse is left out, as no snapshot with it would be accepted.
        """
        runs = [run for run in runs if run.queue and 0 <= run.seconds <= LONGEST_RUNTIME]
        if not runs:
            return
        rows: dict[str, QueueRuntimes] = self.carried["queue_runtimes"]
        for run in runs:
            row = QueueRuntimes(queue=run.queue)
            if (known := rows.get(run.queue)) is not None:
                row.CopyFrom(known)
            add_runtime(row, run.gpu_milli, run.seconds, run.end_seconds)
            rows[run.queue] = row
        size = sum(row.ByteSize() for row in rows.values())
        for name in sorted(rows, key=lambda name: (rows[name].time.seconds, name)):
            if size <= max_bytes:
                break
            size -= rows.pop(name).ByteSize()

    def update_states(self, statuses: Iterable[InFlightGroupStatus]) -> None:
        """Stop the groups that the server dropped, and remove closed ones."""
        for status in statuses:
            entry = self.entries.get(status.id)
            if entry is not None and status.state in _IN_FLIGHT_STATES:
                entry.replaced.update({each.pod: each.by for each in status.replaced_pods})
            elif entry is not None:
                has_expired = status.state == IN_FLIGHT_GROUP_STATE_EXPIRED
                entry.handle(EntryEvent.EXPIRED if has_expired else EntryEvent.DROPPED)
                self.is_changed = True
        for entry in [entry for entry in self.entries.values() if entry.is_closed]:
            del self.entries[entry.id]

    def failed_decisions(self) -> set[str]:
        """Ids of the decisions that failed for good."""
        return {decision for entry in self.entries.values() for decision in entry.failed_decisions()}

    def unreported(self) -> list[JournalEntry]:
        """Entries with results that the server lacks."""
        return [entry for entry in self.entries.values() if entry.is_unreported]

    def reports(self, entries: Iterable[JournalEntry]) -> Iterator[GroupReport]:
        """Reports of groups, each with the eviction records of its pairs."""
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

    def apply_status(self, status: GroupStatus, now_seconds: float) -> None:
        """Update a reported group, and store the patches that the server returned for it."""
        entry = self.entries.get(status.id)
        if entry is None:
            return
        is_cancelled = status.state == GROUP_STATE_CANCELLED
        entry.handle(EntryEvent.CANCELLED if is_cancelled else EntryEvent.REPORTED)
        for patch in status.patches:
            self._store(entry, patch, now_seconds)
        self.is_changed = True
        if entry.is_closed:
            del self.entries[entry.id]

    def discard_obsolete(self, source: ClusterSource, writer: PatchWriter, now_seconds: float) -> None:
        """Remove patches that objects show, and data of pod groups that have been missing for a day."""
        oldest = now_seconds - RETENTION_SECONDS
        for uid, pending in list(self.pending_patches.items()):
            if source.pod_group(uid) is not None:
                pending.last_seen_seconds = now_seconds
            if pending.last_seen_seconds < oldest or writer.is_stored(uid, [*pending.patches.values()]):
                del self.pending_patches[uid]
                self.changed_pod_groups.add(uid)
                self.is_changed = True
        for pair, row in list(self.eviction_history.items()):
            if _latest_seconds(row) < oldest and None in map(source.pod_group, pair):
                del self.eviction_history[pair]
                self.is_changed = True

    def _store(self, entry: JournalEntry, due: PatchToStore, now_seconds: float) -> None:
        if due in entry.stored_patches:
            return
        entry.stored_patches.append(due)
        rates = self.carried["eviction_rates"]
        if (state := rates.get(due.returned_tokens.name)) is not None:
            given = type(state)(name=state.name, time=state.time)
            given.tokens_milli = state.tokens_milli + due.returned_tokens.tokens_milli
            rates[state.name] = given
        patch = due.patch
        match patch.WhichOneof("change"):
            case "set_eviction_record":
                record = patch.set_eviction_record
                self.eviction_history[record.victim, record.preemptor] = record
            case "delete_eviction_record":
                self.eviction_history.pop((patch.pod_group, patch.delete_eviction_record), None)
            case str():
                pending = self.pending_patches.setdefault(patch.pod_group, PendingPatches())
                pending.last_seen_seconds = now_seconds
                pending.add(patch)
                self.changed_pod_groups.add(patch.pod_group)


def _field_of(patch: Patch) -> str:
    change = patch.WhichOneof("change") or ""
    return _CLEARED_FIELDS.get(change, change)


def _latest_seconds(row: EvictionRecord) -> float:
    latest = max(row.last_eviction_time, row.last_failure_time, key=Timestamp.ToNanoseconds)
    return latest.ToNanoseconds() / 1e9
