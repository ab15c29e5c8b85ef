"""All that is under way and to be remembered, in memory. The store keeps a copy that survives the process."""

from collections.abc import Iterable, Iterator
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.kubernetes.ledger.entry import Entry
from tenure.client.kubernetes.ledger.notes import Note, annotation_of, is_older
from tenure.client.kubernetes.observe.picture import Picture
from tenure.v1.decision_pb2 import (
    IN_FLIGHT_RESULT_KEPT,
    IN_FLIGHT_RESULT_LAPSED,
    IN_FLIGHT_RESULT_UNSPECIFIED,
    InFlightStatus,
    Patch,
)
from tenure.v1.outcome_pb2 import (
    GROUP_FATE_CANCEL,
    DuePatch,
    GroupReport,
    GroupVerdict,
)
from tenure.v1.snapshot_pb2 import EvictionMemory

GONE_SECONDS: Final = 86_400.0
"""How long something about a pod group that is gone is kept: it may be between two pods."""
_GOES_ON: Final = (IN_FLIGHT_RESULT_KEPT, IN_FLIGHT_RESULT_UNSPECIFIED)
Pair = tuple[str, str]


class Ledger:
    """For one thread, but steps of entries may be noted by several, one thread for each entry."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.memory: dict[Pair, EvictionMemory] = {}
        self.notes: dict[str, Note] = {}
        self.touched: set[str] = set()
        """Uids of pod groups whose rows are others than before."""
        self.is_changed = False
        """Whether the store has less than this."""

    def add(self, entries: Iterable[Entry]) -> None:
        """Take up groups. One that is known by its id goes on as it is."""
        for entry in entries:
            self.entries.setdefault(entry.id, entry)
            self.is_changed = True

    def withdraw(self, entries: Iterable[Entry]) -> None:
        """Forget groups of which nothing was sent."""
        for entry in entries:
            self.entries.pop(entry.id, None)

    def follow(self, statuses: Iterable[InFlightStatus]) -> None:
        """What the server says of groups in flight: those that do not go on are taken no further."""
        for status in statuses:
            entry = self.entries.get(status.id)
            if entry is not None and status.result not in _GOES_ON:
                entry.end(has_lapsed=status.result == IN_FLIGHT_RESULT_LAPSED)
                self.is_changed = True
        for entry in [entry for entry in self.entries.values() if entry.is_to_be_dropped]:
            del self.entries[entry.id]

    def untold(self) -> list[Entry]:
        """Entries of which the server does not know all."""
        return [entry for entry in self.entries.values() if not entry.is_told]

    def reports(self, entries: Iterable[Entry]) -> Iterator[GroupReport]:
        """What became of groups, with what is remembered of the pairs they are about."""
        for entry in entries:
            report = entry.report()
            pairs = {
                (decision.patch.remember.victim, decision.patch.remember.preemptor)
                for decision in entry.group.decisions
                if decision.patch.HasField("remember")
            }
            report.eviction_memory.extend(self.memory[pair] for pair in sorted(pairs & self.memory.keys()))
            yield report

    def judge(self, verdict: GroupVerdict, picture: Picture, now_seconds: float) -> None:
        """Do what the server says of a group that was reported."""
        entry = self.entries.get(verdict.id)
        if entry is None:
            return
        entry.is_told = True
        for due in verdict.patches:
            self._store(entry, due, picture, now_seconds)
        if verdict.fate == GROUP_FATE_CANCEL:
            entry.cancel()
        self.is_changed = True
        if entry.is_to_be_dropped:
            del self.entries[entry.id]

    def settle(self, picture: Picture, shown: dict[str, dict[str, str]], now_seconds: float) -> None:
        """Let go of what is gone, and of notes that objects show by now: `shown`, annotations by uid."""
        for uid, note in list(self.notes.items()):
            if picture.pod_group(uid) is not None:
                note.seen_seconds = now_seconds
            is_shown = note.annotations.items() <= shown.get(uid, {}).items()
            is_gone = note.seen_seconds < now_seconds - GONE_SECONDS
            if is_gone or (note.has_object and is_shown):
                del self.notes[uid]
                self.touched.add(uid)
                self.is_changed = True
        for pair, row in list(self.memory.items()):
            if is_older(_latest(row), now_seconds - GONE_SECONDS) and None in map(picture.pod_group, pair):
                del self.memory[pair]
                self.is_changed = True

    def _store(self, entry: Entry, due: DuePatch, picture: Picture, now_seconds: float) -> None:
        if due in entry.stored:
            return
        entry.stored.append(due)
        self._remember(due.patch, picture, now_seconds)

    def _remember(self, patch: Patch, picture: Picture, now_seconds: float) -> None:
        match patch.WhichOneof("change"):
            case "remember":
                self.memory[patch.remember.victim, patch.remember.preemptor] = patch.remember
            case "forget_preemptor":
                self.memory.pop((patch.pod_group, patch.forget_preemptor), None)
        written = annotation_of(patch)
        if written is not None:
            note = self.notes.setdefault(patch.pod_group, Note())
            note.seen_seconds = now_seconds
            note.has_object = picture.subject(patch.pod_group) is not None
            note.annotations[written[0]] = written[1]
            self.touched.add(patch.pod_group)


def _latest(row: EvictionMemory) -> Timestamp:
    return max(row.last_eviction_time, row.last_failure_time, key=Timestamp.ToNanoseconds)
