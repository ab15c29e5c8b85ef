"""Simulate cycles on a changed copy of a state, without side effects.

The simulation engine has a profile and a registry: no states, history, metrics or records. Results are only
in the response.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from tenure.codec.checks import MISSING, time_problem
from tenure.codec.decode import DecodedSnapshot, decode, decode_snapshot
from tenure.codec.encode import encode_response
from tenure.codec.encoded_response import EncodedResponse
from tenure.codec.engine import build_header, check_actions
from tenure.codec.incremental_decode import decode_change
from tenure.codec.pod_group_status import with_statuses
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.play.next_cluster import apply_decisions
from tenure.solver.plugin_api.derived import WarmStart
from tenure.solver.plugin_api.profile import Profile, profile_digest
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN
from tenure.terms.cancellation import check_of, never, no_check
from tenure.terms.durations import SECOND
from tenure.v1.simulate_pb2 import SimulateRequest, SimulateResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.deltas import check_changes, overlay
from tenure.wire.limits import MAX_DURATION_SECONDS, MAX_TIME_SECONDS
from tenure.wire.timestamps import timestamp
from tenure.wire.violations import FieldViolation, SnapshotValidationError
from tenure.wire.writer import number, tag

MAX_CYCLES: Final = 100
_CYCLES: Final = tag(SimulateResponse, "cycles")
DEFAULT_INTERVAL: Final = 60 * SECOND
"""Nanoseconds between two cycles."""


StartEstimator = Callable[[Cluster, Profile, Callable[[], bool], WarmStart | None], bytes]
"""Returns serialized `start_estimates` of a DecideResponse; nothing if it is stopped."""


class BaseState(NamedTuple):
    """The state that a simulation or an explanation starts from: a valid snapshot, decoded. Read-only."""

    header: ClusterSnapshot
    """The snapshot; its lists are not used."""
    decoded: DecodedSnapshot
    read: Callable[[], ClusterSnapshot]
    """Returns the complete snapshot."""
    warm_start: WarmStart | None = None
    """What sessions on a pushed state left."""

    @property
    def cluster(self) -> Cluster:
        """The cluster that it describes."""
        return self.decoded.cluster


def decode_source(
    snapshot: ClusterSnapshot | None, registry: Registry, check: Callable[[], None] = no_check
) -> BaseState:
    """Decode the snapshot of a request. Raises SnapshotValidationError; its paths begin with `snapshot`."""
    if snapshot is None:
        raise SnapshotValidationError([FieldViolation("snapshot", f"{MISSING}, or a state to refer to")])
    try:
        return BaseState(snapshot, decode(snapshot, registry.guarded.names, check), lambda: snapshot)
    except SnapshotValidationError as invalid:
        violations = (FieldViolation(f"snapshot.{path}", problem) for path, problem in invalid.violations)
        raise SnapshotValidationError(violations) from None


class SimulationEngine:
    """Simulates cycles with one profile. Safe for concurrent use."""

    def __init__(self, profile: Profile, registry: Registry = BUILT_IN) -> None:
        self._profile = profile
        self._registry = registry

    def simulate(
        self,
        request: SimulateRequest,
        source: BaseState | None = None,
        stop: Callable[[], bool] = never,
        estimate: StartEstimator | None = None,
    ) -> bytes:
        """A serialized SimulateResponse, with one response per cycle.

        Equal requests give equal bytes, unless `stop` ends a search. `source` is the state that the request
        refers to; None when it brings a snapshot. `estimate` tells when pod groups of the first cycle start,
        if the request says so (semantics R17.24). Raises SnapshotValidationError with every violating field
        by its path in the request; a row of the state is named by its key.
        """
        violations = [*check_actions(request.actions, self._registry), *_bad_numbers(request)]
        check = check_of(stop)
        try:
            base = source or decode_source(
                request.snapshot if request.HasField("snapshot") else None, self._registry, check
            )
            cluster, warm_start = _changed(base, request, self._registry, check)
        except SnapshotValidationError as invalid:
            raise SnapshotValidationError([*invalid.violations, *violations]) from None
        if violations:
            raise SnapshotValidationError(violations)
        if request.HasField("now"):
            cluster = replace(cluster, now=request.now.ToNanoseconds())
        if cluster.now + request.cycles * _interval(request) > MAX_TIME_SECONDS * SECOND:
            raise SnapshotValidationError(
                [FieldViolation("interval", "the last cycle is after the year 2262")]
            )
        profile = replace(self._profile, actions=tuple(request.actions) or self._profile.actions)
        is_estimated = estimate is not None and request.estimate_starts
        kept = warm_start.fork() if is_estimated and warm_start is not None else None
        contents: list[bytes] = []
        for response in self._cycles(request, profile, base.header, cluster, warm_start, stop):
            contents.append(response.content + response.statuses)
            if estimate is not None and is_estimated and len(contents) == 1:
                contents[0] += estimate(cluster, profile, stop, kept)
        return b"".join([part for each in contents for part in (_CYCLES, number(len(each)), each)])

    def _cycles(
        self,
        request: SimulateRequest,
        profile: Profile,
        snapshot: ClusterSnapshot,
        cluster: Cluster,
        warm_start: WarmStart | None,
        stop: Callable[[], bool],
    ) -> Iterator[EncodedResponse]:
        """Responses; each cycle starts with the previous decisions applied. A stopped cycle is the last."""
        basis = build_header(snapshot, profile_digest(profile))
        for _ in range(max(request.cycles, 1)):
            decision = answer(cluster, profile, stop, warm_start=warm_start, registry=self._registry)
            warm_start = None  # the next cluster is another one
            basis.now.CopyFrom(timestamp(cluster.now))
            response = encode_response(cluster, decision, basis, check_of(stop))
            yield with_statuses(response, cluster, request, self._registry, check_of(stop))
            if decision.stopped_early:
                return
            cluster = apply_decisions(
                cluster, decision, _interval(request), [group.id for group in response.summary.groups]
            )


def _changed(
    base: BaseState, request: SimulateRequest, registry: Registry, check: Callable[[], None]
) -> tuple[Cluster, WarmStart | None]:
    """Cluster of a state with the changes of the request, and its warm-start cache if any. The state is not
    modified.
    """
    if violations := check_changes(request.upserts, request.removals):
        raise SnapshotValidationError(violations)
    if not request.upserts.ListFields() and not request.removals.ListFields():
        return base.cluster, None if base.warm_start is None else base.warm_start.fork()
    now = base.cluster.now
    changed = decode_change(base.decoded, base.header, request.upserts, request.removals, now, check)
    if changed is not None:
        if base.warm_start is None or base.warm_start.is_empty or changed.change is None:
            return changed.cluster, None
        return changed.cluster, base.warm_start.fork(changed.change)
    laid = overlay(base.read(), request.upserts, request.removals)
    try:
        return decode_snapshot(laid.snapshot, registry.guarded.names, check), None
    except SnapshotValidationError as invalid:
        found = (laid.locate(violation) for violation in invalid.violations)
        raise SnapshotValidationError(map(_in_request, found)) from None


def _in_request(violation: FieldViolation) -> FieldViolation:
    path = violation.field
    return violation if path.startswith("upserts.") else violation._replace(field=f"snapshot.{path}")


def _interval(request: SimulateRequest) -> int:
    span = request.interval
    return span.seconds * SECOND + span.nanos if request.HasField("interval") else DEFAULT_INTERVAL


def _bad_numbers(request: SimulateRequest) -> Iterator[FieldViolation]:
    """Violations of fields that are not rows."""
    if not 0 <= request.cycles <= MAX_CYCLES:
        yield FieldViolation("cycles", f"{request.cycles} is not between 0 and {MAX_CYCLES}")
    span = request.interval
    if request.HasField("interval"):
        if abs(span.nanos) >= SECOND or span.seconds * span.nanos < 0:
            yield FieldViolation("interval", "seconds and nanos do not belong together")
        elif _interval(request) <= 0:
            yield FieldViolation("interval", "is not above zero")
        elif span.seconds > MAX_DURATION_SECONDS:
            yield FieldViolation("interval", "is longer than a hundred years")
    if request.HasField("now") and (problem := time_problem(request.now)):
        yield FieldViolation("now", problem)
