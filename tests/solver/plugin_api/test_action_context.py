"""An action of another package with a function of its own, written with the plugin API alone."""

from tenure.solver.model.decision import CycleResult, OutcomeKind
from tenure.solver.model.placement import TaskStatus
from tenure.solver.plugin_api import (
    SECOND,
    Action,
    ActionContext,
    Atomicity,
    Batch,
    PluginConfig,
    Profile,
    QueueGate,
    ReasonCode,
    Registry,
    Relation,
    Scenario,
)
from tenure.solver.testing import BUILT_IN, DEFAULT_PLUGINS, NOW, ClusterBuilder, TaskState, answer, statuses


def oldest_first(context: ActionContext, action: Action) -> None:
    """For each pending pod group, evict the pod group of its queue that has run for the longest."""
    groups = context.cluster.pod_groups
    running = [groups[each] for each in context.running_pod_groups()]
    running.sort(key=lambda group: group.facts.last_start or 0)
    for pending in context.pending_pod_groups():
        context.check_stop()
        if (rejection := context.may_evict(groups[pending])) is not None:
            context.reject(pending, rejection)
            continue
        same_queue = [each.index for each in running if each.queue == groups[pending].queue]
        any(replace(context, action, pending, victim) for victim in same_queue)
    context.wake_at(context.cluster.now + SECOND)


def replace(context: ActionContext, action: Action, pending: int, victim: int) -> bool:
    """Evict one pod group for another, if that is permitted and suffices."""
    tasks = context.tasks_to_allocate(pending)
    victims = tuple(task for task in context.cluster.pod_groups[victim].tasks if runs(context, task))
    with context.statement() as statement:
        mark = statement.checkpoint()
        for task in victims:
            statement.evict(task)
        scenario = Scenario(pending, tuple(tasks), (), (Batch(victim, victims),))
        rejection = context.place(statement, pending, tasks) or context.allows(action, scenario)
        if rejection is None:
            context.commit(statement, action, pending)
            return True
        statement.rollback(mark)
        context.reject(pending, rejection)
        return False


def runs(context: ActionContext, task: int) -> bool:
    return context.ledger.placement(task).status is TaskStatus.RUNNING


OLDEST_FIRST = Action(
    "oldestfirst",
    victims_from=Relation.SAME_QUEUE,
    gate=QueueGate.NONE,
    reason=ReasonCode.PREEMPTED,
    atomicity=Atomicity.ALL,
    run=oldest_first,
)
REGISTRY = Registry(actions={**BUILT_IN.actions, "oldestfirst": OLDEST_FIRST}, plugins=BUILT_IN.plugins)


def decided(builder: ClusterBuilder) -> tuple[CycleResult, dict[str, TaskState]]:
    profile = Profile(("oldestfirst",), tuple(map(PluginConfig, DEFAULT_PLUGINS)))
    cluster = builder.build()
    result = answer(cluster, profile, registry=REGISTRY)
    return result, statuses(cluster, result)


def full_queue(**options: bool) -> ClusterBuilder:
    builder = ClusterBuilder().node("n", gpus=2).queue("q")
    builder.running("young", queue="q", gpus=1, node="n", started_ago="1m")
    builder.running("old", queue="q", gpus=1, node="n", started_ago="2h")
    return builder.pending("new", queue="q", gpus=1, never_evicts=options.get("never_evicts", False))


def test_evictions_and_placements_become_one_decision_group() -> None:
    result, pods = decided(full_queue())
    assert [(group.action, len(group.evictions), len(group.reservations)) for group in result.groups] == [
        ("oldestfirst", 1, 1)
    ]
    assert (pods["old-0"].status, pods["young-0"].status) == (TaskStatus.RELEASING, TaskStatus.RUNNING)
    assert result.next_wake_time == NOW + SECOND


def test_guards_apply_to_what_the_action_asks_about() -> None:
    builder = full_queue()
    builder.queue("firm", preempt_min_runtime="3h")
    builder.running("kept", queue="firm", gpus=1, node="n2", started_ago="2h").node("n2", gpus=1)
    builder.pending("asks", queue="firm", gpus=1)
    _, pods = decided(builder)
    assert pods["kept-0"].status is TaskStatus.RUNNING
    assert pods["old-0"].status is TaskStatus.RELEASING


def test_rejections_are_the_reasons_of_outcomes() -> None:
    result, _ = decided(full_queue(never_evicts=True))
    (outcome,) = result.outcomes
    assert (result.groups, outcome.kind) == ((), OutcomeKind.WAITING_FOR_CAPACITY)
