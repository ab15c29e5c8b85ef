"""Rows that are set aside: a snapshot is accepted without the rows that have violations.

    violations ──► their rows ──► rows that depend on them ──► decode what is left ──► more violations?

Nothing is evicted for a row that is set aside, and capacity counts as used: a pod group goes as a whole if a
pod of it on a node goes, such a pod reduces the capacity of its node, and a node with violations stays,
without taking pods. Nothing of this runs for a snapshot without violations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from tenure.codec.decode import DecodedSnapshot
from tenure.server.state.set_aside_rows import RowSorter
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.state_pb2 import FieldViolation as FieldViolationMessage
from tenure.v1.state_pb2 import SetAsideRow, SetAsideRows
from tenure.wire.columns import check_structure, to_pods
from tenure.wire.deltas import KEY_FIELDS, Overlay
from tenure.wire.limits import RequestLimits
from tenure.wire.row_limits import DEFAULT_MAX_ROWS, ListLimits, SenderLimits
from tenure.wire.scanner import check_request
from tenure.wire.violations import (
    FieldViolation,
    SnapshotValidationError,
    ViolationCollector,
    escape_control_characters,
)

_MAX_PASSES: Final = 8
"""How often what is left is decoded. Rows that depend on others go with them, so that two are usual."""
_MAX_ROWS: Final = 1_000
_MAX_VIOLATIONS: Final = 10
_MAX_KEY: Final = 253
_ANY: Final = 1 << 60
_UNLIMITED: Final = ListLimits(dict.fromkeys(DEFAULT_MAX_ROWS, _ANY))
"""Rows and entries were counted when the messages of a snapshot arrived."""


@dataclass(frozen=True)
class SetAside:
    """What was set aside of a snapshot, and what the caller is told about it."""

    rows: pb.ClusterSnapshot
    """Rows as they were sent. Those of nodes are in the state too: closed, or with less capacity."""
    message: SetAsideRows
    limits: RequestLimits
    """Limits on texts that apply to these rows."""


class Acceptance(NamedTuple):
    """A snapshot without the rows that are set aside."""

    snapshot: pb.ClusterSnapshot
    decoded: DecodedSnapshot
    set_aside: SetAside | None


Decode = Callable[[pb.ClusterSnapshot], DecodedSnapshot]


def accept(
    snapshot: pb.ClusterSnapshot,
    decode: Decode,
    limits: RequestLimits,
    overlay: Overlay | None = None,
    *,
    has_long_texts: bool = True,
) -> Acceptance:
    """Decode a snapshot without its invalid rows. Rows of `overlay` are named as its sender knows them.

    `has_long_texts` is False if no text of a row can exceed the limits. Raises SnapshotValidationError for
    violations outside of rows, and for columns that cannot be read.
    """
    violations = long_texts(snapshot, limits) if has_long_texts else ()
    if not violations:
        try:
            return Acceptance(snapshot, decode(snapshot), None)
        except SnapshotValidationError as invalid:
            violations = invalid.violations
            _check_columns(snapshot)
    elif snapshot.pod_columns.uid:  # their texts have no rows
        _check_columns(snapshot)
        violations = long_texts(to_pods(snapshot), limits)
    sorter = RowSorter(snapshot)
    for _ in range(_MAX_PASSES):
        sorter.set_aside(violations)
        rest = sorter.rest()
        try:
            decoded = decode(rest)
        except SnapshotValidationError as invalid:
            violations = invalid.violations
            continue
        return Acceptance(rest, decoded, SetAside(sorter.gone(), _message(sorter, overlay), limits))
    raise SnapshotValidationError(violations)


def _check_columns(snapshot: pb.ClusterSnapshot) -> None:
    """Raise SnapshotValidationError if pods cannot be read from columns: then their rows are unknown."""
    found = ViolationCollector("pod_columns")
    if not check_structure(snapshot.pod_columns, found):
        raise SnapshotValidationError(found.violations())


def long_texts(snapshot: pb.ClusterSnapshot, limits: RequestLimits) -> tuple[FieldViolation, ...]:
    """Violations of the limits on texts."""
    texts = SenderLimits(_UNLIMITED, limits.max_name_length, limits.max_text_length)
    try:
        check_request(snapshot.SerializeToString(), pb.ClusterSnapshot, texts)
    except SnapshotValidationError as invalid:
        return invalid.violations
    return ()


def restore(snapshot: pb.ClusterSnapshot, set_aside: SetAside) -> pb.ClusterSnapshot:
    """The snapshot with the rows that are set aside, as they were sent."""
    whole = pb.ClusterSnapshot()
    whole.CopyFrom(snapshot)
    replaced = {node.name for node in set_aside.rows.nodes}
    if replaced:
        nodes = [node for node in snapshot.nodes if node.name not in replaced]
        del whole.nodes[:]
        whole.nodes.extend(nodes)
    for name in KEY_FIELDS:
        getattr(whole, name).extend(getattr(set_aside.rows, name))
    return whole


def _message(sorter: RowSorter, overlay: Overlay | None) -> SetAsideRows:
    message = SetAsideRows()
    for row in sorter.entries():
        message.total += 1
        if message.total > _MAX_ROWS:
            continue
        located = _locate(FieldViolation(row.field, ""), overlay).field
        key = escape_control_characters(row.key[:_MAX_KEY])
        message.rows.append(SetAsideRow(field=located, key=key, dependent=row.is_dependent))
        for violation in row.violations[:_MAX_VIOLATIONS]:
            field, description = _locate(violation, overlay)
            message.rows[-1].violations.append(FieldViolationMessage(field=field, description=description))
    return message


def _locate(violation: FieldViolation, overlay: Overlay | None) -> FieldViolation:
    return violation if overlay is None else overlay.locate(violation)
