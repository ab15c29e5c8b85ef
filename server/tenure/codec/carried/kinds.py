"""The kinds of rows that callers carry between cycles and that refer to no workload: one row per kind.

Everything else in the codec treats all kinds alike. docs/internals/state.md shows how to add one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from google.protobuf.message import Message
from tenure.codec.carried.history import (
    decode_disruption_budgets,
    decode_eviction_rates,
    encode_eviction_rates,
)
from tenure.codec.carried.planned_starts import decode_planned_starts, encode_planned_starts
from tenure.codec.carried.postponed_pod_groups import (
    decode_postponed_pod_groups,
    encode_postponed_pod_groups,
)
from tenure.codec.carried.runtimes import decode_queue_runtimes, encode_queue_runtimes
from tenure.codec.carried.usage import decode_queue_usage, encode_queue_usage
from tenure.solver.model.caller_state import PLANNED_STARTS, POSTPONED
from tenure.solver.model.carried import NO_CARRIED_ROWS, CarriedChange, CarriedRows, RowKind
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.disruption_limits import DISRUPTION_BUDGETS, EVICTION_RATES
from tenure.solver.model.queue import QUEUE_USAGE, WHOLE_CLUSTER
from tenure.solver.model.queue_runtimes import QUEUE_RUNTIMES
from tenure.v1.decide_pb2 import StatePatch
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateKeys
from tenure.wire.carried import CARRIED
from tenure.wire.violations import ViolationCollector

_UNKNOWN: Final = -2
"""Stands for a queue that does not exist."""


class Referents(NamedTuple):
    """Indices of the objects that rows may name, by name or ID."""

    nodes: Callable[[], Mapping[str, int]]
    queues: Callable[[], Mapping[str, int]]
    shapes: Callable[[], Mapping[str, int]]


def _same_key(key: str, known: Referents) -> Any:
    return key


def _queue_key(key: str, known: Referents) -> Any:
    return known.queues().get(key, _UNKNOWN) if key else WHOLE_CLUSTER


class RowCodec(NamedTuple):
    """How the rows of one kind are read and written."""

    kind: RowKind[Any]
    decode: Callable[[Any, Referents, ViolationCollector], tuple[Any, ...]]
    """Rows by key, from messages. Adds violations."""
    encode: Callable[[Cluster, Sequence[Any]], Iterable[Message]]
    """Messages of rows that the caller is to store."""
    key: Callable[[str, Referents], Any] = _same_key
    """Key of a row from its key in a message."""


CODECS: Final = (
    RowCodec(
        EVICTION_RATES,
        lambda rows, known, found: decode_eviction_rates(rows, found),
        lambda cluster, rows: encode_eviction_rates(rows),
    ),
    RowCodec(
        QUEUE_USAGE,
        lambda rows, known, found: decode_queue_usage(rows, known.queues(), found),
        encode_queue_usage,
        _queue_key,
    ),
    RowCodec(
        QUEUE_RUNTIMES,
        lambda rows, known, found: decode_queue_runtimes(rows, known.queues(), found),
        encode_queue_runtimes,
        _queue_key,
    ),
    RowCodec(
        PLANNED_STARTS,
        lambda rows, known, found: decode_planned_starts(rows, known.nodes(), known.shapes(), found),
        encode_planned_starts,
    ),
    RowCodec(
        POSTPONED,
        lambda rows, known, found: decode_postponed_pod_groups(rows, found),
        lambda cluster, rows: encode_postponed_pod_groups(rows),
    ),
)
"""Kinds in the order of their patches in a response."""
BUDGETS: Final = RowCodec(
    DISRUPTION_BUDGETS,
    lambda rows, known, found: decode_disruption_budgets(rows, found),
    lambda cluster, rows: (),
)
"""Callers observe budgets, but a delta changes them as it does carried rows."""


def decode_carried(
    message: ClusterSnapshot, known: Referents, findings: Mapping[str, ViolationCollector]
) -> CarriedRows:
    """The rows of a snapshot. Violations are added to the collector of their list."""
    found = NO_CARRIED_ROWS
    for codec in CODECS:
        name = codec.kind.name
        found = found.with_rows(codec.kind, codec.decode(getattr(message, name), known, findings[name]))
    return found


def carried_after(
    before: CarriedRows, upserts: ClusterSnapshot, removals: StateKeys, known: Referents
) -> CarriedRows | None:
    """The rows after a delta. None: it is invalid."""
    after = before
    for codec in CODECS:
        rows = rows_after(codec, before.rows(codec.kind), upserts, removals, known)
        if rows is None:
            return None
        after = after.with_rows(codec.kind, rows)
    return after


def rows_after(
    codec: RowCodec, before: tuple[Any, ...], upserts: ClusterSnapshot, removals: StateKeys, known: Referents
) -> tuple[Any, ...] | None:
    """Rows of one kind after a delta. None: it is invalid."""
    sent, removed = getattr(upserts, codec.kind.name), getattr(removals, codec.kind.name)
    if not sent and not removed:
        return before
    found = ViolationCollector("upserts")
    rows = codec.decode(sent, known, found)
    gone = [codec.key(key, known) for key in removed]
    return None if found else codec.kind.merged(before, rows, gone)


def encode_patches(cluster: Cluster, changes: Sequence[CarriedChange]) -> Iterator[StatePatch]:
    """What the caller is to store and delete, kind by kind."""
    for codec in CODECS:
        rules = CARRIED[codec.kind.name].rules
        for change in [change for change in changes if change.kind is codec.kind]:
            for row in codec.encode(cluster, change.rows):
                yield _patch(rules.set_by, row)
            for key in change.deleted:
                yield _patch(rules.deleted_by, key)


def _patch(change: str, value: Any) -> StatePatch:
    return StatePatch(**{change: value})
