"""From an ExplainRequest to its response. Pure: no clock, no transport, no state."""

from collections.abc import Callable, Collection, Container, Iterator
from dataclasses import replace

from tenure.codec.checks import MISSING, excessive_names, time_problem
from tenure.codec.simulation import BaseState, decode_source
from tenure.server.explain.explain_result import ExplainResult
from tenure.server.explain.protected_until import protected_until
from tenure.server.explain.victim_ranks import ranks_of_queue
from tenure.server.explain.when_starts import when_starts
from tenure.server.explain.why_not_victim import why_not_victim
from tenure.server.explain.why_pending import why_pending
from tenure.server.explain.why_victim import why_victim
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN
from tenure.terms.cancellation import check_of, never
from tenure.v1.explain_pb2 import ExplainRequest, ExplainResponse
from tenure.wire.violations import FieldViolation, SnapshotValidationError, quote_name


class Explainer:
    """Explains decisions of one profile. Thread-safe."""

    def __init__(self, profile: Profile, registry: Registry = BUILT_IN) -> None:
        self._profile = profile
        self._registry = registry

    def explain(
        self, request: ExplainRequest, source: BaseState | None = None, stop: Callable[[], bool] = never
    ) -> ExplainResponse:
        """Response to a request. Equal requests give equal bytes, unless `stop` ends the tests of remedies.

        `source` is the state that the request refers to; None if the request contains a snapshot. Raises
        SnapshotValidationError with the path of every invalid field, and CycleStopped if `stop` ends the
        cycle that is explained.
        """
        base = source or decode_source(
            request.snapshot if request.HasField("snapshot") else None, self._registry, check_of(stop)
        )
        groups = {group.facts.uid: group.index for group in base.cluster.pod_groups if group.facts.uid}
        cluster = base.cluster
        queues = {queue.facts.name for queue in cluster.queues}
        if violations := [*_bad_time(request), *_unknown_names(request, groups, queues)]:
            raise SnapshotValidationError(violations)
        if request.HasField("now"):
            cluster = replace(cluster, now=request.now.ToNanoseconds())
        if request.WhichOneof("question") == "when_starts":
            wanted_groups = [groups[uid] for uid in request.when_starts.pod_groups]
            warm = None if base.warm_start is None else base.warm_start.fork()
            found = when_starts(cluster, self._profile, self._registry, wanted_groups, stop, warm)
            return found.message(cluster, self._registry.reasons)
        replay = CycleReplay(cluster, self._profile, stop, self._registry)
        if replay.result.stopped_early:
            raise CycleStopped
        return _explain(request, groups, replay, stop).message(cluster, self._registry.reasons)


def _explain(
    request: ExplainRequest, groups: dict[str, int], replay: CycleReplay, stop: Callable[[], bool]
) -> ExplainResult:
    match request.WhichOneof("question"):
        case "why_pending":
            return why_pending(replay, groups[request.why_pending.pod_group], stop)
        case "why_victim":
            return why_victim(replay, groups[request.why_victim.pod_group])
        case "protected_until":
            return protected_until(replay, groups[request.protected_until.pod_group])
        case "victim_ranks":
            return ranks_of_queue(replay, request.victim_ranks.queue)
    query = request.why_not_victim
    return why_not_victim(replay, groups[query.pod_group], groups[query.preemptor])


def _bad_time(request: ExplainRequest) -> Iterator[FieldViolation]:
    if request.HasField("now") and (problem := time_problem(request.now)):
        yield FieldViolation("now", problem)


def _unknown_names(
    request: ExplainRequest, groups: Collection[str], queues: Container[str]
) -> Iterator[FieldViolation]:
    question = request.WhichOneof("question")
    if question is None:
        yield FieldViolation("question", MISSING)
        return
    if question == "victim_ranks":
        queue = request.victim_ranks.queue
        if queue and queue not in queues:
            unknown = f"there is no queue with name {quote_name(queue)}"
            yield FieldViolation("victim_ranks.queue", unknown)
        return
    if question == "when_starts":
        field, named = "when_starts.pod_groups", len(request.when_starts.pod_groups)
        if too_many := excessive_names(field, named, len(groups), "pod groups"):
            yield too_many
            return
        for number, uid in enumerate(request.when_starts.pod_groups):
            if uid not in groups:
                unknown = f"there is no pod group with uid {quote_name(uid)}" if uid else MISSING
                yield FieldViolation(f"when_starts.pod_groups[{number}]", unknown)
        return
    query = getattr(request, question)
    for field in query.DESCRIPTOR.fields:
        uid = getattr(query, field.name)
        if uid not in groups:
            unknown = f"there is no pod group with uid {quote_name(uid)}" if uid else MISSING
            yield FieldViolation(f"{question}.{field.name}", unknown)
