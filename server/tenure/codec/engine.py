"""The engine: a question to an answer, as messages. Pure: no clock, no transport, no state.

The digest of a profile, by which an answer says what it was decided with, and what it is made of.

What every answer rests on: a snapshot by its header, and a profile by its digest.

The state that a simulation or an explanation starts from: a snapshot and the cluster it describes.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

from tenure.codec.checks import MISSING
from tenure.codec.decode import DecodedSnapshot, decode, decode_snapshot
from tenure.codec.encode import encode_response
from tenure.codec.encoded_response import EncodedResponse
from tenure.solver.cycle import decide
from tenure.solver.framework.observer import NULL_OBSERVER, ObservedPhase, Observer, Phase
from tenure.solver.framework.stop_signal import never
from tenure.solver.model.cluster import Cluster
from tenure.solver.plugin_api.derived import WarmStart
from tenure.solver.plugin_api.profile import CycleOptions, PluginConfig, Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN, with_required_plugins
from tenure.v1.decide_pb2 import DecideRequest, ResponseHeader
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.violations import FieldViolation, SnapshotValidationError, quote_name


def profile_digest(profile: Profile) -> str:
    """The first 16 hex digits of the SHA-256 over actions, plugins with arguments, and options.

    The order of actions and plugins counts, since it changes decisions; that of arguments does not.
    """
    return sha256(profile_text(profile).encode()).hexdigest()[:16]


def profile_text(profile: Profile) -> str:
    """All of a profile as JSON; equal profiles give equal texts."""
    content = {
        "actions": profile.actions,
        "plugins": [[plugin.name, sorted(plugin.arguments.items())] for plugin in profile.plugins],
        "options": asdict(profile.options),
    }
    return json.dumps(content, sort_keys=True)


def profile_of(text: str) -> Profile:
    """The profile of such a text. Raises ValueError when it is none, or has options nobody knows here.

    Whether actions and plugins are known is for `check_profile` to say.
    """
    try:
        content = json.loads(text)
        plugins = tuple(PluginConfig(name, dict(arguments)) for name, arguments in content["plugins"])
        return Profile(tuple(content["actions"]), plugins, CycleOptions(**content["options"]))
    except (TypeError, KeyError) as error:
        raise ValueError(f"is not a profile of this version: {error}") from None


def check_actions(actions: Sequence[str], registry: Registry) -> list[FieldViolation]:
    """One violation for every action that nobody knows; paths are `actions[i]`."""
    return [
        FieldViolation(
            f"actions[{i}]", f"unknown action {quote_name(name)}; known: {', '.join(registry.actions)}"
        )
        for i, name in enumerate(actions)
        if name not in registry.actions
    ]


def build_header(snapshot: ClusterSnapshot, digest: str) -> ResponseHeader:
    """What ids are made from and answers echo: the header of the snapshot, and the digest of the profile."""
    return ResponseHeader(
        cluster_id=snapshot.cluster_id,
        node_pool=snapshot.node_pool,
        version=snapshot.version,
        now=snapshot.now,
        profile_digest=digest,
    )


class BaseState(NamedTuple):
    """A valid snapshot, decoded. Read only: it may be a state that others read as well."""

    header: ClusterSnapshot
    """The snapshot; its lists of nodes, queues, workloads and what they refer to are of no account."""
    decoded: DecodedSnapshot
    read: Callable[[], ClusterSnapshot]
    """Gives the snapshot as a whole."""
    warm_start: WarmStart | None = None
    """What was found out about the state, if it is kept."""

    @property
    def cluster(self) -> Cluster:
        """What the snapshot describes."""
        return self.decoded.cluster


def decode_source(snapshot: ClusterSnapshot | None, registry: Registry) -> BaseState:
    """The snapshot of a request. Raises SnapshotValidationError, with paths that begin with `snapshot`."""
    if snapshot is None:
        raise SnapshotValidationError([FieldViolation("snapshot", f"{MISSING}, or a state to refer to")])
    try:
        return BaseState(snapshot, decode(snapshot, registry.guarded.names), lambda: snapshot)
    except SnapshotValidationError as invalid:
        violations = (FieldViolation(f"snapshot.{path}", problem) for path, problem in invalid.violations)
        raise SnapshotValidationError(violations) from None


class CycleTimeline(Observer, Protocol):
    """An observer that also learns the ids of a cycle's groups."""

    entries: list[Any]
    """What happened, as plain objects that another process may have made."""
    group_ids: dict[tuple[str, int], str]
    """Ids by action and beneficiary; filled when `is_detailed`."""


class _PreparedProfile(NamedTuple):
    """What a question is decided by."""

    profile: Profile
    session_profile: Profile
    """As sessions open it."""
    digest: str


class Engine:
    """Decides with one profile. May be used by several threads at a time.

    A cycle runs within the context that `pause` gives, such as one without garbage collection.
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
        """Call this with False when no question can be answered for a while, and with True when it can again.

        In the threads that ask, that never happens.
        """

    def close(self) -> None:
        """No more questions come. Cycles run in the threads that ask, so there is nothing to end."""

    @property
    def registry(self) -> Registry:
        """The actions and plugins that it knows."""
        return self._registry

    @property
    def profile(self) -> Profile:
        """The profile it decides by."""
        return self._profile

    def decide(
        self,
        request: DecideRequest,
        stop: Callable[[], bool] = never,
        timeline: CycleTimeline | None = None,
    ) -> EncodedResponse:
        """The answer to a request; equal requests give equal bytes, unless `stop` ends the search.

        What happens is written into the timeline, if there is one; the answer is the same.
        Raises SnapshotValidationError with every violating field: paths are those within the snapshot, but
        for "snapshot" itself and "actions[i]".
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
        """The answer to a request that refers to a state: the same as if its rows and header came with it.

        `cluster` is the state decoded, and `header` a snapshot whose lists are of no account; both are of the
        time to decide at. `opening` is what is known about the state from earlier answers, if it is kept;
        `read` gives the state as a message, for those that decide elsewhere. Raises SnapshotValidationError
        when `actions[i]` are unknown.
        """
        if violations := check_actions(request.actions, self._registry):
            raise SnapshotValidationError(violations)
        with self._pause():
            return self._respond(cluster, header, request, stop, timeline, warm_start)

    def warm_up(self, cluster: Cluster, warm_start: WarmStart) -> None:
        """Find out what every question about a state begins with, so that the first one need not."""
        profile = replace(self._latest.session_profile, actions=())
        decide(cluster, profile, warm_start=warm_start, registry=self._registry)

    def _decide(
        self, request: DecideRequest, stop: Callable[[], bool], timeline: CycleTimeline | None
    ) -> EncodedResponse:
        """What is decoded goes when this is over: before the collector comes back and looks at it."""
        with ObservedPhase(timeline or NULL_OBSERVER, Phase.DECODE):
            cluster = _checked_cluster(request, self._registry)
        return self._respond(cluster, request.snapshot, request, stop, timeline)

    def profile_for(self, actions: tuple[str, ...]) -> Profile:
        """What a question with these actions is decided by; without any, the profile itself."""
        return self._profile_for(actions).profile

    def _profile_for(self, actions: tuple[str, ...]) -> _PreparedProfile:
        """The profile with these actions: as a rule those of the question before."""
        asked, actions = self._latest, actions or self._profile.actions
        if asked.profile.actions != actions:
            profile = replace(self._profile, actions=actions)
            asked = self._latest = _prepare_profile(profile)
        return asked

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
        decision = decide(cluster, profile, stop, timeline or NULL_OBSERVER, warm_start, self._registry)
        with ObservedPhase(timeline or NULL_OBSERVER, Phase.ENCODE):
            answer = encode_response(cluster, decision, build_header(header, digest))
        if timeline is not None and timeline.is_detailed:
            for group, encoded in zip(decision.groups, answer.summary.groups, strict=True):
                timeline.group_ids[group.action, group.beneficiary] = encoded.id
        return answer


def _prepare_profile(profile: Profile) -> _PreparedProfile:
    return _PreparedProfile(profile, with_required_plugins(profile), profile_digest(profile))


def _checked_cluster(request: DecideRequest, registry: Registry) -> Cluster:
    violations = list(check_actions(request.actions, registry))
    if request.HasField("now"):
        violations.insert(
            0, FieldViolation("now", "goes with a reference to a state; set snapshot.now instead")
        )
    if not request.HasField("snapshot"):
        raise SnapshotValidationError([FieldViolation("snapshot", "is required"), *violations])
    try:
        cluster = decode_snapshot(request.snapshot, registry.guarded.names)
    except SnapshotValidationError as invalid:
        raise SnapshotValidationError([*invalid.violations, *violations]) from None
    if violations:
        raise SnapshotValidationError(violations)
    return cluster
