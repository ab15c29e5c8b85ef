"""What callers carry from cycle to cycle: rows that responses change, and that the next snapshot has again.

`schema` declares the kinds of rows, one per list of a snapshot. All that is done with them is here, for every
kind alike: callers store rows and send the changes, servers keep them with a state.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from google.protobuf.message import Message
from tenure.v1.decide_pb2 import DecideResponse, StatePatch
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta, StateKeys
from tenure.wire.deltas import KEYS, add_removals, overlay
from tenure.wire.schema import Carried, carried_lists

_Lists = TypeVar("_Lists", ClusterSnapshot, StateKeys)

IN_FLIGHT_GROUPS: Final = "in_flight_groups"
"""The rows that are not stored: they follow from the decision groups that a caller accepted."""


class CarriedKind(NamedTuple):
    """One kind of rows."""

    name: str
    """List of a snapshot."""
    message: type[Message]
    key: Callable[[Any], Any]
    """Key of a row: a text, or a tuple of texts."""
    rules: Carried


def _kinds() -> Mapping[str, CarriedKind]:
    return {
        name: CarriedKind(name, row.message, KEYS[name], row.carried)
        for name, row in carried_lists().items()
        if row.carried is not None
    }


CARRIED: Final[Mapping[str, CarriedKind]] = _kinds()
"""All kinds by list of a snapshot, in the order of the schema."""
STORED: Final = tuple([kind for kind in CARRIED.values() if kind.name != IN_FLIGHT_GROUPS])
"""Kinds of rows that callers store."""
_SET_BY: Final = {kind.rules.set_by: kind for kind in STORED if kind.rules.set_by}
_DELETED_BY: Final = {kind.rules.deleted_by: kind for kind in STORED if kind.rules.deleted_by}


class RowPatch(NamedTuple):
    """What a StatePatch changes."""

    kind: CarriedKind
    key: Any
    row: Any
    """None: the row with the key is deleted."""


def read_patch(patch: StatePatch) -> RowPatch | None:
    """The row that a patch changes. None: the patch is of a newer version."""
    change = patch.WhichOneof("change") or ""
    value = getattr(patch, change, None)
    if (kind := _SET_BY.get(change)) is not None:
        return RowPatch(kind, kind.key(value), value)
    if (kind := _DELETED_BY.get(change)) is not None:
        return RowPatch(kind, value, None)
    return None


class StoredRows:
    """Rows that a caller stores, by list and key. Rows are replaced, never changed in place."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[Any, Any]] = {kind.name: {} for kind in STORED}

    def __getitem__(self, name: str) -> dict[Any, Any]:
        return self._rows[name]

    def copy(self) -> dict[str, dict[Any, Any]]:
        """The rows by list and key, for a comparison after later changes."""
        return {name: rows.copy() for name, rows in self._rows.items()}

    def store(self, response: DecideResponse, is_accepted: bool) -> bool:
        """Apply the state patches of a response; say whether a row changed.

        `is_accepted` says whether a decision group of the response was accepted.
        """
        changed = False
        for patch in map(read_patch, response.state_patches):
            if patch is not None and (is_accepted or not patch.kind.rules.needs_acceptance):
                changed |= self._apply(patch)
        for kind in STORED:
            if is_accepted and kind.rules.named_by:
                changed |= self._keep_named(kind, response)
            if kind.rules.most_stored:
                self._keep_latest(kind)
        return changed

    def _apply(self, patch: RowPatch) -> bool:
        rows = self._rows[patch.kind.name]
        if rows.get(patch.key) == patch.row:
            return False
        if patch.row is None:
            del rows[patch.key]
        else:
            rows[patch.key] = patch.row
        return True

    def _keep_named(self, kind: CarriedKind, response: DecideResponse) -> bool:
        """Delete the rows whose name is not in the response."""
        names = {each.name for each in getattr(response, kind.rules.named_by)}
        rows = self._rows[kind.name]
        gone = [key for key in rows if key not in names]
        for key in gone:
            del rows[key]
        return bool(gone)

    def _keep_latest(self, kind: CarriedKind) -> None:
        """Keep the rows that changed last, and that without a name."""
        rows = self._rows[kind.name]
        if len(rows) > kind.rules.most_stored:
            order = sorted(rows, key=lambda key: (not key, rows[key].time.seconds, key))
            self._rows[kind.name] = {key: rows[key] for key in order[-kind.rules.most_stored :]}


def add_rows(snapshot: ClusterSnapshot, rows: Mapping[str, Mapping[Any, Any]]) -> None:
    """Add rows, by list and key, to a snapshot."""
    for name, by_key in rows.items():
        getattr(snapshot, name).extend(by_key.values())


def add_changes(
    delta: StateDelta, before: Mapping[str, Mapping[Any, Any]], after: Mapping[str, Mapping[Any, Any]]
) -> None:
    """Add to a delta what differs between rows by list and key. A list that is missing before was empty."""
    for name, rows in after.items():
        known = before.get(name, {})
        getattr(delta.upserts, name).extend([row for key, row in rows.items() if known.get(key) != row])
        add_removals(delta.removals, name, sorted(known.keys() - rows.keys()))


_ABOUT_WORKLOADS: Final = tuple([kind.name for kind in CARRIED.values() if kind.rules.names_workloads])


def workload_rows(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """A snapshot of only the carried rows that refer to pods and pod groups.

    A server stores them as messages and decodes them again after each delta.
    """
    return _only(snapshot, ClusterSnapshot(), _ABOUT_WORKLOADS)


def changed_workload_rows(before: ClusterSnapshot, delta: StateDelta) -> ClusterSnapshot:
    """The `workload_rows` after a delta, with the header before it; `before` itself if nothing changes."""
    upserts = workload_rows(delta.upserts)
    removals = _only(delta.removals, StateKeys(), _ABOUT_WORKLOADS)
    if not (upserts.ByteSize() or removals.ByteSize()):
        return before
    return overlay(before, upserts, removals).snapshot


def _only(rows: _Lists, result: _Lists, names: Iterable[str]) -> _Lists:
    for name in names:
        getattr(result, name).extend(getattr(rows, name))
    return result


def has_aging_rows(snapshot: ClusterSnapshot) -> bool:
    """Whether the snapshot has carried rows that change responses in time."""
    return any(kind.rules.ages and getattr(snapshot, kind.name) for kind in CARRIED.values())
