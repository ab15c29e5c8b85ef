"""The engine: a question to an answer, as messages. Pure: no clock, no transport, no state."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from tenure.server.basis import based_on, unknown_actions
from tenure.server.codec.decode import decode_snapshot
from tenure.server.codec.encode import encode_decision
from tenure.server.codec.violations import FieldViolation, InvalidSnapshot
from tenure.server.collecting import resting_collector
from tenure.server.digest import profile_digest
from tenure.server.telemetry.timeline import Timeline
from tenure.solver.cycle import decide
from tenure.solver.framework.observer import SILENCE, Part, Watched
from tenure.solver.framework.opening import Opening
from tenure.solver.framework.profile import Profile
from tenure.solver.framework.stop import never
from tenure.solver.model.cluster import Cluster
from tenure.solver.registry import opened
from tenure.v1.decision_service_pb2 import DecideRequest, DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot


class _Asked(NamedTuple):
    """What a question is decided by."""

    profile: Profile
    opened: Profile
    """As sessions open it."""
    digest: str


class Engine:
    """Decides with one profile. May be used by several threads at a time."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._latest = _asked(profile)

    def watch(self, tell: Callable[[bool], None]) -> None:
        """Call this with False when no question can be answered for a while, and with True when it can again.

        In the threads that ask, that never happens.
        """

    def close(self) -> None:
        """No more questions come. Cycles run in the threads that ask, so there is nothing to end."""

    @property
    def profile(self) -> Profile:
        """The profile it decides by."""
        return self._profile

    def decide(
        self,
        request: DecideRequest,
        stop: Callable[[], bool] = never,
        timeline: Timeline | None = None,
    ) -> DecideResponse:
        """The answer to a request; equal requests give equal bytes, unless `stop` ends the search.

        What happens is written into the timeline, if there is one; the answer is the same. Raises
        InvalidSnapshot with every violating field: paths are those within the snapshot, but for "snapshot"
        itself and "actions[i]".
        """
        with resting_collector():
            return self._decide(request, stop, timeline)

    def decide_on(
        self,
        cluster: Cluster,
        header: ClusterSnapshot,
        request: DecideRequest,
        stop: Callable[[], bool] = never,
        timeline: Timeline | None = None,
        opening: Opening | None = None,
        read: Callable[[], ClusterSnapshot] | None = None,
    ) -> DecideResponse:
        """The answer to a request that refers to a state: the same as if its rows and header came with it.

        `cluster` is the state decoded, and `header` a snapshot whose lists are of no account; both are of the
        time to decide at. `opening` is what is known about the state from earlier answers, if it is kept;
        `read` gives the state as a message, for those that decide elsewhere. Raises InvalidSnapshot when
        `actions[i]` are unknown.
        """
        if violations := unknown_actions(request.actions):
            raise InvalidSnapshot(violations)
        with resting_collector():
            return self._answer(cluster, header, request, stop, timeline, opening)

    def prepare(self, cluster: Cluster, opening: Opening) -> None:
        """Find out what every question about a state begins with, so that the first one need not."""
        decide(cluster, replace(self._latest.opened, actions=()), opening=opening)

    def _decide(
        self, request: DecideRequest, stop: Callable[[], bool], timeline: Timeline | None
    ) -> DecideResponse:
        """What is decoded goes when this is over: before the collector comes back and looks at it."""
        with Watched(timeline or SILENCE, Part.DECODE):
            cluster = _checked_cluster(request)
        return self._answer(cluster, request.snapshot, request, stop, timeline)

    def profile_for(self, actions: tuple[str, ...]) -> Profile:
        """What a question with these actions is decided by; without any, the profile itself."""
        return self._asked_for(actions).profile

    def _asked_for(self, actions: tuple[str, ...]) -> _Asked:
        """The profile with these actions: as a rule those of the question before."""
        asked, actions = self._latest, actions or self._profile.actions
        if asked.profile.actions != actions:
            profile = replace(self._profile, actions=actions)
            asked = self._latest = _asked(profile)
        return asked

    def _answer(
        self,
        cluster: Cluster,
        header: ClusterSnapshot,
        request: DecideRequest,
        stop: Callable[[], bool],
        timeline: Timeline | None,
        opening: Opening | None = None,
    ) -> DecideResponse:
        _, profile, digest = self._asked_for(tuple(request.actions))
        decision = decide(cluster, profile, stop, timeline or SILENCE, opening)
        with Watched(timeline or SILENCE, Part.ENCODE):
            answer = encode_decision(cluster, decision, based_on(header, digest))
        if timeline is not None and timeline.is_close:
            for ours, theirs in zip(decision.groups, answer.groups, strict=True):
                timeline.decided[ours.action, ours.beneficiary] = theirs.id
        return answer


def _asked(profile: Profile) -> _Asked:
    return _Asked(profile, opened(profile), profile_digest(profile))


def _checked_cluster(request: DecideRequest) -> Cluster:
    violations = list(unknown_actions(request.actions))
    if request.HasField("now"):
        violations.insert(
            0, FieldViolation("now", "goes with a reference to a state; set snapshot.now instead")
        )
    if not request.HasField("snapshot"):
        raise InvalidSnapshot([FieldViolation("snapshot", "is required"), *violations])
    try:
        cluster = decode_snapshot(request.snapshot)
    except InvalidSnapshot as invalid:
        raise InvalidSnapshot([*invalid.violations, *violations]) from None
    if violations:
        raise InvalidSnapshot(violations)
    return cluster
