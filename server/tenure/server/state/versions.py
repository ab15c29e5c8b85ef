"""The first version of a state, and the next one after a delta."""

from collections.abc import Callable
from functools import partial
from hashlib import sha256

from tenure.codec.checks import time_problem
from tenure.codec.decode import DecodedSnapshot, decode
from tenure.codec.incremental_decode import decode_change, with_base
from tenure.server.installed import installed_registry
from tenure.server.settings.server import MaxRows
from tenure.server.state import errors
from tenure.server.state.lazy_snapshot import LazySnapshot
from tenure.server.state.lineage import new_lineage
from tenure.server.state.memory_model import MESSAGE_FACTOR
from tenure.server.state.set_aside import accept, long_texts, restore
from tenure.server.state.state import State, header_of, to_bytes
from tenure.server.state.warm_start import WarmStartCache
from tenure.terms.cancellation import no_check
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta
from tenure.wire.carried import CARRIED, changed_workload_rows
from tenure.wire.deltas import Overlay, check_changes, overlay
from tenure.wire.limits import LimitExceeded, RequestLimits
from tenure.wire.scanner import check_rows
from tenure.wire.violations import FieldViolation, SnapshotValidationError


def full_state(
    epoch: str,
    snapshot: ClusterSnapshot,
    most: MaxRows,
    *,
    check: Callable[[], None] = no_check,
    texts: RequestLimits | None = None,
    has_long_texts: bool = False,
) -> State:
    """State of a full snapshot; with limits on `texts`, invalid rows are set aside.

    Raises SnapshotValidationError, or StateError for too many rows. `check` raises when the call has ended.
    """
    _check_rows(snapshot, most)
    read, set_aside = partial(_decode, check=check), None
    if texts is None:
        decoded = read(snapshot)
    else:
        snapshot, decoded, set_aside = accept(snapshot, read, texts, has_long_texts=has_long_texts)
    decoded = with_base(decoded, snapshot, check)
    return State(epoch, header_of(snapshot), LazySnapshot(snapshot), decoded, set_aside=set_aside)


def _decode(snapshot: ClusterSnapshot, check: Callable[[], None]) -> DecodedSnapshot:
    return decode(snapshot, installed_registry().guarded.names, check)


def next_state(
    state: State,
    delta: StateDelta,
    max_bytes: int,
    most: MaxRows,
    *,
    check: Callable[[], None] = no_check,
    texts: RequestLimits | None = None,
) -> State:
    """The state after a delta on it; with limits on `texts`, invalid rows are set aside.

    Raises StateError; nothing is changed either way. `check` raises when the call has ended.
    """
    problems = [*_header_problems(state, delta), *check_changes(delta.upserts, delta.removals)]
    if problems:
        raise errors.invalid_delta(problems)
    state.check_clock(delta.now)
    has_long_texts = texts is not None and bool(long_texts(delta.upserts, texts))
    if state.set_aside or has_long_texts:
        return _next_state_set_aside(state, delta, max_bytes, most, texts=texts, check=check)
    now = delta.now.ToNanoseconds()
    changed = decode_change(state.decoded, state.header, delta.upserts, delta.removals, now, check)
    if changed is None and texts is not None:
        return _next_state_set_aside(
            state, delta, max_bytes, most, texts=texts, check=check, has_long_texts=False
        )
    if changed is None or delta.upserts.pod_columns.uid:
        after = _after(state, delta)
        header, written = header_of(after.snapshot), LazySnapshot(after.snapshot)
    else:
        header, written = _next_header(state.header, delta), state.lazy_snapshot.with_delta(delta)
    if (
        written.is_long
        or written.size * MESSAGE_FACTOR > max_bytes
        or not _has_few_rows(changed, header, most)
    ):
        _check_rows(written.read(), most)
    decoded, content = changed or _decoded(state, after, check), to_bytes(delta)
    made_by, lineage = sha256(content).digest(), state.lineage.with_delta(content, written.size)
    warm_start = (
        WarmStartCache()
        if decoded.change is None
        else state.warm_start.advance(decoded.change, len(decoded.pod_groups))
    )
    after_delta = State(state.epoch, header, written, decoded, made_by, lineage, warm_start)
    check_memory(after_delta, max_bytes)
    return after_delta


def check_memory(state: State, max_bytes: int) -> None:
    """Raise StateError for a state that takes more memory than all states together may take."""
    if state.memory_bytes > max_bytes:
        raise errors.too_large(state.memory_bytes, max_bytes)


def _next_state_set_aside(
    state: State,
    delta: StateDelta,
    max_bytes: int,
    most: MaxRows,
    *,
    texts: RequestLimits | None,
    check: Callable[[], None],
    has_long_texts: bool = True,
) -> State:
    """The state after a delta, of all rows that were ever sent: some are, or may be, set aside.

    Without `texts`, rows of the delta itself must be valid.
    """
    after, before = _after(state, delta), state.set_aside
    _check_rows(after.snapshot, most)
    limits = texts or (before.limits if before else None)
    assert limits is not None
    try:
        snapshot, decoded, set_aside = accept(
            after.snapshot, partial(_decode, check=check), limits, after, has_long_texts=has_long_texts
        )
    except SnapshotValidationError as invalid:
        raise errors.invalid_delta([after.locate(violation) for violation in invalid.violations]) from None
    if texts is None and set_aside is not None:
        rows = [row for row in set_aside.message.rows if row.field.startswith("upserts.")]
        found = [FieldViolation(one.field, one.description) for row in rows for one in row.violations]
        if found:
            raise errors.invalid_delta(found)
    written, content = LazySnapshot(snapshot), to_bytes(delta)
    made_by = sha256(content).digest()
    lineage = state.lineage.with_delta(content, written.size)
    if before or set_aside:  # the delta does not lead from one to the other
        lineage = new_lineage()
    decoded = with_base(decoded, snapshot, check)
    header = header_of(snapshot)
    result = State(state.epoch, header, written, decoded, made_by, lineage, set_aside=set_aside)
    check_memory(result, max_bytes)
    return result


def _after(state: State, delta: StateDelta) -> Overlay:
    sent = restore(state.snapshot, state.set_aside) if state.set_aside else state.snapshot
    after = overlay(sent, delta.upserts, delta.removals)
    after.snapshot.version = delta.version
    after.snapshot.now.CopyFrom(delta.now)
    return after


def _decoded(state: State, after: Overlay, check: Callable[[], None]) -> DecodedSnapshot:
    """Return the state after a delta, decoded completely."""
    try:
        decoded = decode(after.snapshot, state.decoded.guarded_actions, check)
        return with_base(decoded, after.snapshot, check)
    except SnapshotValidationError as invalid:
        raise errors.invalid_delta([after.locate(violation) for violation in invalid.violations]) from None


def _next_header(header: ClusterSnapshot, delta: StateDelta) -> ClusterSnapshot:
    """Header after a delta that changes workloads only."""
    after = ClusterSnapshot()
    after.CopyFrom(changed_workload_rows(header, delta))
    after.version = delta.version
    after.now.CopyFrom(delta.now)
    return after


def _has_few_rows(decoded: DecodedSnapshot | None, header: ClusterSnapshot, most: MaxRows) -> bool:
    """Whether no list of a changed state can have too many rows."""
    if decoded is None:
        return False
    counts = {
        "pods": len(decoded.tasks),
        "pod_groups": len(decoded.pod_groups),
        "disruption_budgets": len(decoded.cluster.disruption_budgets),
    }
    for name, kind in CARRIED.items():
        rows = len(getattr(header, name))
        counts[name] = rows if kind.rules.names_workloads else decoded.cluster.carried.count(name)
    return all(count <= most.of(name) for name, count in counts.items())


def _check_rows(snapshot: ClusterSnapshot, most: MaxRows) -> None:
    try:
        check_rows(snapshot, most)
    except LimitExceeded as exceeded:
        raise errors.too_many_rows(exceeded) from None


def _header_problems(state: State, delta: StateDelta) -> list[FieldViolation]:
    problems = []
    if delta.version <= state.header.version:
        problem = f"{delta.version} is not greater than that of the base, {state.header.version}"
        problems.append(FieldViolation("version", problem))
    if not delta.HasField("now"):
        problems.append(FieldViolation("now", "is required"))
    elif problem := time_problem(delta.now):
        problems.append(FieldViolation("now", problem))
    return problems
