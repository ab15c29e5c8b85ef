"""The engine: from a request to a response, as messages. Pure: no clock, no transport, no state."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from tenure.codec.checks import excessive_names
from tenure.codec.decode import decode_snapshot
from tenure.codec.encode import encode_response
from tenure.codec.encoded_response import EncodedResponse
from tenure.codec.pod_group_status import with_statuses
from tenure.solver.cycle import decide
from tenure.solver.diagnosis.answer import answer
from tenure.solver.framework.observer import NULL_OBSERVER, ObservedPhase, Observer, Phase
from tenure.solver.model.cluster import Cluster
from tenure.solver.plugin_api.derived import WarmStart
from tenure.solver.plugin_api.profile import Profile, profile_digest
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN, with_required_plugins
from tenure.terms.cancellation import check_of, never
from tenure.v1.decide_pb2 import DecideRequest, ResponseHeader
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.violations import FieldViolation, SnapshotValidationError, quote_name


def check_actions(actions: Sequence[str], registry: Registry) -> list[FieldViolation]:
    """One violation for every unknown action; paths are `actions[i]`. Each name is work: they are bounded."""
    if too_many := excessive_names("actions", len(actions), len(registry.actions), "actions"):
        return [too_many]
    return [
        FieldViolation(
            f"actions[{i}]", f"unknown action {quote_name(name)}; known: {', '.join(registry.actions)}"
        )
        for i, name in enumerate(actions)
        if name not in registry.actions
    ]


def build_header(snapshot: ClusterSnapshot, digest: str) -> ResponseHeader:
    """The header of the snapshot and the digest of the profile. Ids are computed from it."""
    return ResponseHeader(
        cluster_id=snapshot.cluster_id,
        node_pool=snapshot.node_pool,
        version=snapshot.version,
        now=snapshot.now,
        profile_digest=digest,
    )


class CycleTimeline(Observer, Protocol):
    """An observer that also receives the IDs of decision groups."""

    entries: list[Any]
    """Events, as plain objects; another process may have made them."""
    group_ids: dict[tuple[str, int], str]
    """IDs by action and beneficiary, if `is_detailed`."""


class _PreparedProfile(NamedTuple):
    """A profile as it is used for a request."""

    profile: Profile
    session_profile: Profile
    """With the plugins that are always on."""
    digest: str


class Engine:
    """Decides with one profile. Several threads may use it at a time.

    A cycle runs within the context that `pause` returns, such as one without garbage collection.
    """

    def __init__(
        self,
        profile: Profile,
        registry: Registry = BUILT_IN,
        pause: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._profile = profile
        self._registry = registry
        self._pause = pause
        self._latest = _prepare_profile(profile)

    def watch(self, notify: Callable[[bool], None]) -> None:
        """Call `notify` with False when no request can be served, and with True when one can again.

        Here that never happens: cycles run in the threads of the calls.
        """

    def close(self) -> None:
        """Nothing is to be closed: cycles run in the threads of the calls."""

    @property
    def registry(self) -> Registry:
        """Known actions and plugins."""
        return self._registry

    @property
    def profile(self) -> Profile:
        """The configured profile."""
        return self._profile

    def decide(
        self,
        request: DecideRequest,
        stop: Callable[[], bool] = never,
        timeline: CycleTimeline | None = None,
    ) -> EncodedResponse:
        """Decide on the snapshot of a request. Equal requests give equal bytes, unless `stop` ends a search.

        If `stop` has a method `check` (`terms.cancellation`), it is called while the request is decoded, the
        session opened and the response encoded; what it raises passes through.

        Events are written to the timeline, if there is one; the response is the same. Raises
        SnapshotValidationError with every violating field: paths are those within the snapshot, except for
        "snapshot" itself and "actions[i]".
        """
        with self._pause():
            return self._decide(request, stop, timeline)

    def decide_state(
        self,
        cluster: Cluster,
        header: ClusterSnapshot,
        request: DecideRequest,
        stop: Callable[[], bool] = never,
        timeline: CycleTimeline | None = None,
        warm_start: WarmStart | None = None,
        read: Callable[[], ClusterSnapshot] | None = None,
    ) -> EncodedResponse:
        """Decide on a pushed state: the response is the same as if its rows and header came with the request.

        `cluster` is the decoded state, `header` a snapshot whose lists are not used; both have the time to
        decide at. `warm_start` is what earlier sessions on the state left; `read` returns the state as a
        message, for engines in another process. Raises SnapshotValidationError for unknown `actions[i]`.
        """
        if violations := check_actions(request.actions, self._registry):
            raise SnapshotValidationError(violations)
        with self._pause():
            return self._respond(cluster, header, request, stop, timeline, warm_start)

    def warm_up(self, cluster: Cluster, warm_start: WarmStart, stop: Callable[[], bool] = never) -> None:
        """Derive what every session on a state begins with, before the first request."""
        profile = replace(self._latest.session_profile, actions=())
        decide(cluster, profile, stop, warm_start=warm_start, registry=self._registry).close()

    def _decide(
        self, request: DecideRequest, stop: Callable[[], bool], timeline: CycleTimeline | None
    ) -> EncodedResponse:
        """Decoded rows are released on return, before garbage collection resumes."""
        with ObservedPhase(timeline or NULL_OBSERVER, Phase.DECODE):
            cluster = _checked_cluster(request, self._registry, check_of(stop))
        response = self._respond(cluster, request.snapshot, request, stop, timeline)
        return with_statuses(response, cluster, request, self._registry, check_of(stop))

    def profile_for(self, actions: tuple[str, ...]) -> Profile:
        """The profile with these actions; without any, the configured profile."""
        return self._profile_for(actions).profile

    def _profile_for(self, actions: tuple[str, ...]) -> _PreparedProfile:
        """The prepared profile with these actions. The latest one is cached."""
        latest, actions = self._latest, actions or self._profile.actions
        if latest.profile.actions != actions:
            profile = replace(self._profile, actions=actions)
            latest = self._latest = _prepare_profile(profile)
        return latest

    def _respond(
        self,
        cluster: Cluster,
        header: ClusterSnapshot,
        request: DecideRequest,
        stop: Callable[[], bool],
        timeline: CycleTimeline | None,
        warm_start: WarmStart | None = None,
    ) -> EncodedResponse:
        _, profile, digest = self._profile_for(tuple(request.actions))
        decision = answer(cluster, profile, stop, timeline or NULL_OBSERVER, warm_start, self._registry)
        with ObservedPhase(timeline or NULL_OBSERVER, Phase.ENCODE):
            reasons, check = self._registry.reasons, check_of(stop)
            response = encode_response(cluster, decision, build_header(header, digest), check, reasons)
        if timeline is not None and timeline.is_detailed:
            for group, encoded in zip(decision.groups, response.summary.groups, strict=True):
                timeline.group_ids[group.action, group.beneficiary] = encoded.id
        return response


def _prepare_profile(profile: Profile) -> _PreparedProfile:
    return _PreparedProfile(profile, with_required_plugins(profile), profile_digest(profile))


def _checked_cluster(request: DecideRequest, registry: Registry, check: Callable[[], None]) -> Cluster:
    violations = list(check_actions(request.actions, registry))
    if request.HasField("now"):
        violations.insert(
            0, FieldViolation("now", "goes with a reference to a state; set snapshot.now instead")
        )
    if not request.HasField("snapshot"):
        raise SnapshotValidationError([FieldViolation("snapshot", "is required"), *violations])
    try:
        cluster = decode_snapshot(request.snapshot, registry.guarded.names, check)
    except SnapshotValidationError as invalid:
        raise SnapshotValidationError([*invalid.violations, *violations]) from None
    if violations:
        raise SnapshotValidationError(violations)
    return cluster
