"""Simulate: what would be decided on a state that is not the real one.

A simulator has a profile and nothing else: no kept states, no memory, no metrics, no records. What it finds
out leaves it in the answer alone.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from tenure.server.basis import based_on, unknown_actions
from tenure.server.codec.change import decode_change
from tenure.server.codec.checks import time_problem
from tenure.server.codec.decode import decode_snapshot
from tenure.server.codec.encode import encode_decision
from tenure.server.codec.limits import MAX_DURATION_SECONDS, MAX_TIME_SECONDS
from tenure.server.codec.times import timestamp
from tenure.server.codec.violations import FieldViolation, InvalidSnapshot
from tenure.server.digest import profile_digest
from tenure.server.source import Source, decoded
from tenure.server.state.overlay import check_upserts, overlay
from tenure.solver.carryout import next_cluster
from tenure.solver.cycle import decide
from tenure.solver.framework.opening import Opening
from tenure.solver.framework.profile import Profile
from tenure.solver.framework.stop import never
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.duration import SECOND
from tenure.v1.decision_service_pb2 import DecideResponse, SimulateResponse
from tenure.v1.simulate_pb2 import SimulateRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

MAX_CYCLES: Final = 100
DEFAULT_INTERVAL: Final = 60 * SECOND
"""Nanoseconds from one cycle to the next."""


class Simulator:
    """Plays cycles with one profile. May be used by several threads at a time."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def simulate(
        self, request: SimulateRequest, source: Source | None = None, stop: Callable[[], bool] = never
    ) -> SimulateResponse:
        """One answer per cycle; equal requests give equal bytes, unless `stop` ends a search.

        `source` is the state that the request refers to; None when it brings a snapshot. Raises
        InvalidSnapshot with every violating field by its path in the request; a row of the state is named by
        its key.
        """
        violations = [*unknown_actions(request.actions), *_bad_numbers(request)]
        try:
            base = source or decoded(request.snapshot if request.HasField("snapshot") else None)
            cluster, opening = _changed(base, request)
        except InvalidSnapshot as invalid:
            raise InvalidSnapshot([*invalid.violations, *violations]) from None
        if violations:
            raise InvalidSnapshot(violations)
        if request.HasField("now"):
            cluster = replace(cluster, now=request.now.ToNanoseconds())
        if cluster.now + request.cycles * _interval(request) > MAX_TIME_SECONDS * SECOND:
            raise InvalidSnapshot([FieldViolation("interval", "the last cycle is after the year 2262")])
        return SimulateResponse(cycles=self._cycles(request, base.header, cluster, opening, stop))

    def _cycles(
        self,
        request: SimulateRequest,
        snapshot: ClusterSnapshot,
        cluster: Cluster,
        opening: Opening | None,
        stop: Callable[[], bool],
    ) -> Iterator[DecideResponse]:
        """Each cycle with the decisions of the one before carried out; one that is stopped is the last."""
        profile = replace(self._profile, actions=tuple(request.actions) or self._profile.actions)
        basis = based_on(snapshot, profile_digest(profile))
        for _ in range(max(request.cycles, 1)):
            decision = decide(cluster, profile, stop, opening=opening)
            opening = None  # the next cluster is another one
            basis.now.CopyFrom(timestamp(cluster.now))
            answer = encode_decision(cluster, decision, basis)
            yield answer
            if decision.stopped_early:
                return
            cluster = next_cluster(
                cluster, decision, _interval(request), [group.id for group in answer.groups]
            )


def _changed(base: Source, request: SimulateRequest) -> tuple[Cluster, Opening | None]:
    """The cluster of a state with the rows of the request; nothing of the state is changed.

    With it what is known of such a cluster, if the state is kept.
    """
    if violations := check_upserts(request.upserts):
        raise InvalidSnapshot(violations)
    if not request.upserts.ListFields() and not request.removes.ListFields():
        return base.cluster, None if base.opening is None else base.opening.fork()
    now = base.cluster.now
    changed = decode_change(base.decoded, base.header, request.upserts, request.removes, now)
    if changed is not None:
        if base.opening is None or base.opening.is_empty or changed.change is None:
            return changed.cluster, None
        return changed.cluster, base.opening.fork(changed.change)
    laid = overlay(base.read(), request.upserts, request.removes)
    try:
        return decode_snapshot(laid.snapshot), None
    except InvalidSnapshot as invalid:
        found = (laid.located(violation) for violation in invalid.violations)
        raise InvalidSnapshot(map(_in_request, found)) from None


def _in_request(violation: FieldViolation) -> FieldViolation:
    path = violation.field
    return violation if path.startswith("upserts.") else violation._replace(field=f"snapshot.{path}")


def _interval(request: SimulateRequest) -> int:
    span = request.interval
    return span.seconds * SECOND + span.nanos if request.HasField("interval") else DEFAULT_INTERVAL


def _bad_numbers(request: SimulateRequest) -> Iterator[FieldViolation]:
    """What is wrong with the fields that are not rows."""
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
