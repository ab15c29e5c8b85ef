"""Recorded calls of the min-runtime plugin and its resolver."""

from collections.abc import Mapping
from dataclasses import dataclass

from tenure.solver.framework.guards import Guards
from tenure.solver.framework.session import Session
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.plugins.guards.min_runtime import LCA, QUEUE, ResolvedMinRuntime, Resolver
from tenure.solver.registry import BUILT_IN
from tenure.terms.durations import parse_duration

from tests.conformance.cases import Json
from tests.conformance.unit_cases.queues import QueueTable, queue_table
from tests.conformance.unit_cases.values import Adapter, Results
from tests.conformance.unit_cases.workloads import cluster_of, job_key


@dataclass(frozen=True, slots=True)
class RecordedResolver:
    """A resolver of the reference.

    Tenure's resolver is built for one method and for queues that all exist. Therefore each call builds a
    resolver with the queues of the call.
    """

    records: Mapping[str, Json]
    preempt: int
    reclaim: int

    def table(self, *queues: Json | None) -> tuple[QueueTable, list[int | None]]:
        """Return all queues including these, and the indices of these; None for a missing queue."""
        asked = {queue["UID"]: queue for queue in queues if queue is not None}
        table = queue_table({**self.records, **asked})
        return table, [None if queue is None else table.find(queue["UID"]).index for queue in queues]

    def build_for(self, method: str, table: QueueTable) -> Resolver:
        """Build Tenure's resolver."""
        return Resolver(table.queues, self.preempt, self.reclaim, method)


def _new_resolver(_: None, queues: Mapping[str, Json], preempt: int, reclaim: int) -> Results:
    return (RecordedResolver(queues, preempt, reclaim),)


def _preempt(resolver: RecordedResolver, victim: Json | None) -> Results:
    table, (index,) = resolver.table(victim)
    return _results(resolver.build_for(LCA, table).preempt(index))


def _reclaim(resolver: RecordedResolver, method: str, reclaimer: Json | None, victim: Json | None) -> Results:
    table, (mine, theirs) = resolver.table(reclaimer, victim)
    return _results(resolver.build_for(method, table).reclaim(mine, theirs))


def _results(resolved: ResolvedMinRuntime) -> Results:
    """Results as the reference returns them: for a missing queue, the default and an error."""
    return resolved.minimum, "a queue is missing" if resolved.is_missing else None


def _reclaim_by_lca(resolver: RecordedResolver, reclaimer: Json | None, victim: Json | None) -> Results:
    return _reclaim(resolver, LCA, reclaimer, victim)


def _reclaim_by_queue(resolver: RecordedResolver, reclaimer: Json | None, victim: Json | None) -> Results:
    return _reclaim(resolver, QUEUE, reclaimer, victim)


def _path(resolver: RecordedResolver, queue: Json | None) -> Results:
    table, (index,) = resolver.table(queue)
    assert index is not None
    return ([{"UID": table.queues[step].facts.name} for step in table.queues[index].path],)


def _parse(_: None, arguments: Mapping[str, str], name: str) -> Results:
    return (parse_duration(arguments[name]),)


def _preempt_filter(plugin: Json, preemptor: Json, victim: Json) -> Results:
    return _filter(plugin, "preempt", preemptor, victim)


def _reclaim_filter(plugin: Json, preemptor: Json, victim: Json) -> Results:
    return _filter(plugin, "reclaim", preemptor, victim)


def _filter(plugin: Json, action: str, preemptor: Json, victim: Json) -> Results:
    ours, index = _open(plugin, [preemptor, victim])
    rejection = ours.allows_victim(
        BUILT_IN.actions[action], index[job_key(preemptor)], index[job_key(victim)]
    )
    return (rejection is None,)


def _preempt_validator(plugin: Json, scenario: Json) -> Results:
    return _validate(plugin, "preempt", scenario)


def _reclaim_validator(plugin: Json, scenario: Json) -> Results:
    return _validate(plugin, "reclaim", scenario)


def _validate(plugin: Json, action: str, scenario: Json) -> Results:
    preemptor, victims = scenario["Preemptor"], scenario["Victims"].values()
    ours, index = _open(plugin, [preemptor, *(victim["Job"] for victim in victims)])
    batches = tuple(
        Batch(index[job_key(victim["Job"])], tuple(index[task["UID"]] for task in victim["Tasks"]))
        for victim in victims
    )
    question = Scenario(index[job_key(preemptor)], (), (), batches)
    return (ours.allows_scenario(BUILT_IN.actions[action], question) is None,)


def _open(plugin: Json, jobs: list[Json]) -> tuple[Guards, dict[str, int]]:
    """Return the guards of a session with only this plugin, and the index of each job and task."""
    cluster = cluster_of(jobs, queue_table(plugin["queues"]).queues)
    arguments = {
        "defaultPreemptMinRuntime": f"{plugin['defaultPreemptMinRuntime']}ns",
        "defaultReclaimMinRuntime": f"{plugin['defaultReclaimMinRuntime']}ns",
        "reclaimResolveMethod": plugin["reclaimResolveMethod"],
    }
    session = Session.open(cluster, Profile((), (PluginConfig("minruntime", arguments),)), BUILT_IN)
    index = {group.facts.uid: group.index for group in cluster.pod_groups}
    index |= {task.facts.uid: task.index for task in cluster.tasks}
    return session.guards, index


MIN_RUNTIME_CALLS: dict[str, Adapter] = {
    "NewResolver": _new_resolver,
    "resolver.getPreemptMinRuntime": _preempt,
    "resolver.getReclaimMinRuntime": _reclaim,
    "resolver.resolveReclaimMinRuntimeLCA": _reclaim_by_lca,
    "resolver.resolveReclaimMinRuntimeQueue": _reclaim_by_queue,
    "resolver.getQueueHierarchyPath": _path,
    "parseMinRuntime": _parse,
    "minruntimePlugin.preemptFilterFn": _preempt_filter,
    "minruntimePlugin.reclaimFilterFn": _reclaim_filter,
    "minruntimePlugin.preemptScenarioValidatorFn": _preempt_validator,
    "minruntimePlugin.reclaimScenarioValidatorFn": _reclaim_validator,
}
