"""Why a pod group is a victim or not: every kind of response."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from tenure.server.explain.why_not_victim import why_not_victim
from tenure.server.explain.why_victim import why_victim
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.constraints import HostPort
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.terms.durations import SECOND
from tenure.terms.reasons import ReasonCode

from tests.server.explain.pending_cases import (
    evicted_for_job,
    full_node,
    index,
    single_queue,
    two_queues,
    with_recent_eviction,
)

DEFAULT = default_profile()
GUARDS = ("evictionlimit", "nearcompletion", "waitlimit", "victimcooldown")
GUARDED = replace(DEFAULT, plugins=(*DEFAULT.plugins, *map(PluginConfig, GUARDS)))
SEMI = Preemptibility.SEMI_PREEMPTIBLE
ENDS = "2025-06-15 15:11:40 UTC"
"""Five minutes after the time of built clusters."""


def three_candidates() -> Cluster:
    builder = ClusterBuilder().node("n1", gpus=3).queue("q")
    builder.running("old", queue="q", gpus=1, node="n1", priority=40)
    builder.running("next", queue="q", gpus=1, node="n1", priority=45)
    builder.running("last", queue="q", gpus=1, node="n1", priority=47)
    return builder.pending("job", queue="q", gpus=1, priority=60).build()


def scattered() -> Cluster:
    builder = ClusterBuilder().node("n1", gpus=2).node("n2", gpus=2).queue("q")
    builder.running("old", queue="q", gpus=1, node="n1").running("other", queue="q", gpus=1, node="n2")
    return builder.pending("job", queue="q", gpus=2).build()


def stale() -> Cluster:
    builder = single_queue(2).pod_group("old", queue="q", min_member=2, stale_ago="2m")
    return builder.running("old", gpus=1, node="n1").build()


def overdue() -> Cluster:
    builder = ClusterBuilder().node("n1", gpus=1).queue("q", quota=1).queue("other", quota=1)
    builder.running("old", queue="other", gpus=1, node="n1", started_ago="2h", expected_runtime="1h")
    return builder.pending("job", queue="q", gpus=1, priority=60).build()


def reclaimed() -> Cluster:
    return two_queues(2, 0).pending("job", queue="q", gpus=1).build()


VICTIMS: Mapping[str, tuple[Callable[[], Cluster], ReasonCode, str]] = {
    "reclaim": (
        reclaimed,
        ReasonCode.RECLAIMED,
        "for another workload by reclaim: its queue has more than it may keep",
    ),
    "preempt": (
        evicted_for_job,
        ReasonCode.PREEMPTED,
        "by preempt: the preemptor has higher priority in the same queue",
    ),
    "consolidation": (
        scattered,
        ReasonCode.CONSOLIDATED,
        "(1 restart on another node) evicted for another workload",
    ),
    "requeue": (
        overdue,
        ReasonCode.REQUEUED,
        "it exceeded its expected runtime and the contender has higher priority",
    ),
    "stalegangeviction": (
        stale,
        ReasonCode.STALE_GANG,
        "1 pod of pod group old evicted: it ran below its minimum for longer",
    ),
}


@pytest.mark.parametrize("action", VICTIMS)
def test_victim_explanation_names_rule_and_preemptor(action: str) -> None:
    build, code, explanation = VICTIMS[action]
    cluster = build()
    inquiry = CycleReplay(cluster, DEFAULT)
    victim = next(
        cluster.tasks[evict.task].pod_group for group in inquiry.result.groups for evict in group.evictions
    )
    answer = why_victim(inquiry, victim)
    assert [(fact.code, fact.source) for fact in answer.reasons] == [(code, action)]
    assert explanation in answer.text.public


def test_victim_explanation_names_priorities_of_queues_that_decide_r4_71() -> None:
    plugins = tuple(
        PluginConfig(each.name, {"queuePriorityInQuotaReclaim": "true"})
        if each.name == "proportion"
        else each
        for each in DEFAULT.plugins
    )
    builder = ClusterBuilder().node("n", gpus=4).queue("mine", quota=4, priority=90)
    builder.queue("theirs", quota=4, priority=80).running("old", queue="theirs", gpus=4, node="n")
    cluster = builder.pending("job", queue="mine", gpus=4).build()
    text = why_victim(CycleReplay(cluster, replace(DEFAULT, plugins=plugins)), index(cluster, "old")).text
    assert "by reclaim: a queue of higher priority stays within its quota." in text.public
    assert "mine" not in text.tenant
    assert "quota (queue mine has priority 90, queue theirs has 80)." in text.operator


def test_victim_explanation_names_steady_shares_that_decide_r4_75() -> None:
    steady = PluginConfig("proportion", {"steadyFairShareReclaim": "true"})
    plugins = tuple(steady if each.name == "proportion" else each for each in DEFAULT.plugins)
    builder = ClusterBuilder().queue("mine", quota=0).queue("theirs", quota=0)
    for node, name, gpus in (("n1", "old", 2), ("n2", "older", 3), ("n3", "oldest", 3)):
        builder.node(node, gpus=4).running(name, queue="theirs", gpus=gpus, node=node)
    cluster = builder.pending("job", queue="mine", gpus=3).build()
    text = why_victim(CycleReplay(cluster, replace(DEFAULT, plugins=plugins)), index(cluster, "old")).text
    assert "by reclaim: its queue has more GPUs than its steady share, and the other one less." in text.public
    assert "(queue mine keeps 6 GPUs, queue theirs keeps 6 GPUs and has 8 GPUs)." in text.operator


def test_victim_explanation_lists_the_guards_that_allowed_it() -> None:
    cluster = evicted_for_job(started_ago="1h")
    (queue,) = cluster.queues
    facts = replace(queue.facts, preempt_min_runtime=600 * SECOND)
    cluster = replace(cluster, queues=(replace(queue, facts=facts),))
    text = why_victim(CycleReplay(cluster, DEFAULT), index(cluster, "old")).text
    assert "minruntime (protection ended 2025-06-15 14:16:40 UTC, queue q)" in text.tenant
    assert "preemptibility (no protection, its priority 50)" in text.public


def test_victim_explanation_contains_its_position_in_victim_order() -> None:
    cluster = three_candidates()
    text = why_victim(CycleReplay(cluster, DEFAULT), index(cluster, "old")).text
    assert "It is first in victim order." in text.public
    assert "Next in victim order: another workload of its queue (higher priority)." in text.public
    assert "Next in victim order: pod group next (queue q) (higher priority)." in text.operator
    assert "Then: pod group last (queue q) (higher priority)." in text.operator


def equals(started_ago: str = "9h") -> Cluster:
    """`old` has a checkpoint, `new` does not; both would do. `old` runs for an hour."""
    builder = ClusterBuilder().node("n1", gpus=1).node("n2", gpus=1).queue("q")
    builder.running("old", queue="q", gpus=1, node="n1", checkpoint_ago="10m", restart_cost="2m")
    builder.running("new", queue="q", gpus=1, node="n2", started_ago=started_ago)
    return builder.pending("job", queue="q", gpus=1, priority=60).build()


PRICED = replace(DEFAULT, plugins=(*DEFAULT.plugins, PluginConfig("evictioncost")))


@pytest.mark.parametrize("most", [1, 2])
def test_victim_explanation_tells_costs_of_the_chosen_and_of_the_next_best_r14_8_r14_10(most: int) -> None:
    cluster, options = equals(), replace(PRICED.options, victim_alternatives=most)
    found = why_victim(CycleReplay(cluster, replace(PRICED, options=options)), index(cluster, "old"))
    assert "Its eviction costs 12 GPU minutes, of which 10 GPU minutes are lost work." in found.text.public
    assert "Next in victim order: pod group new (queue q) (a higher cost)." in found.text.operator
    other = "The next best set of victims disrupts 1 pod of pod group new (queue q) for 60 GPU minutes."
    assert f"{other[:-1]}, and lost because it costs more." in found.text.operator
    assert "next best" not in found.text.tenant


def test_victim_explanation_has_no_costs_without_the_plugin() -> None:
    cluster = equals("90m")  # half a GPU hour is not looked for
    text = why_victim(CycleReplay(cluster, DEFAULT), index(cluster, "new")).text
    other = "A set of victims that was not looked for disrupts 1 pod of pod group old (queue q)"
    assert f"{other} and does less harm." in text.operator
    assert "GPU minute" not in text.operator


def test_hours_that_would_be_lost_decide_between_equal_victims_r14_8() -> None:
    cluster = equals()
    text = why_victim(CycleReplay(cluster, DEFAULT), index(cluster, "old")).text
    other = "The next best set of victims disrupts 1 pod of pod group new (queue q)"
    assert f"{other}, and lost because its pods ran for more GPU hours." in text.operator


def test_pod_group_that_is_not_evicted_is_reported_as_such() -> None:
    cluster = three_candidates()
    assert (
        why_victim(CycleReplay(cluster, DEFAULT), index(cluster, "last")).text.public
        == "Pod group last is not evicted."
    )


NOT: Mapping[str, tuple[Callable[[], Cluster], str, str, Profile]] = {
    "NON_PREEMPTIBLE": (
        lambda: evicted_for_job(preemptibility=Preemptibility.NON_PREEMPTIBLE),
        "preempt",
        "it is non-preemptible (set by its own preemptibility)",
        DEFAULT,
    ),
    "NON_PREEMPTIBLE, its minimum": (
        lambda: evicted_for_job(preemptibility=SEMI),
        "preempt",
        "its minimum is non-preemptible, and it has no surplus",
        DEFAULT,
    ),
    "OPTED_OUT": (
        lambda: evicted_for_job(opt_out_actions=["preempt"]),
        "preempt",
        "it opts out of preempt (set by its own opt-out)",
        DEFAULT,
    ),
    "MIN_RUNTIME": (
        lambda: full_node(preempt_min_runtime="10m").pending("job", queue="q", gpus=1, priority=60).build(),
        "preempt",
        f"it has not reached its minimum runtime, and it has no surplus (until {ENDS}, set by its queue)",
        DEFAULT,
    ),
    "PRIORITY_NOT_LOWER": (
        lambda: evicted_for_job(priority=60),
        "preempt",
        "its priority is not lower than the preemptor's",
        DEFAULT,
    ),
    "EVICTION_LIMIT": (
        lambda: evicted_for_job(eviction_count=3),
        "preempt",
        "it reached its eviction limit (set by default of evictionlimit)",
        GUARDED,
    ),
    "NEAR_COMPLETION": (
        lambda: evicted_for_job(started_ago="55m", expected_runtime="1h"),
        "preempt",
        f"it is close to its expected end (until {ENDS}, set by its own expected runtime)",
        GUARDED,
    ),
    "WAIT_LIMIT": (
        lambda: evicted_for_job(total_eviction_wait="25h"),
        "preempt",
        "it reached its limit of time waited after evictions (set by default of waitlimit)",
        GUARDED,
    ),
    "VICTIM_COOLDOWN": (
        lambda: evicted_for_job(started_ago="5m", evictions_without_progress=1),
        "preempt",
        f"it has just started again after evictions (until {ENDS}, set by default of victimcooldown)",
        GUARDED,
    ),
    "EVICTION_COOLDOWN": (
        lambda: with_recent_eviction("job", "old"),
        "preempt",
        "the preemptor was recently evicted for it (until 2025-06-15 15:11:10 UTC,",
        DEFAULT,
    ),
    "EVICTION_BACKOFF": (
        lambda: with_recent_eviction("old", "job", consecutive_failures=1),
        "preempt",
        "evicting it for the preemptor was recently ineffective (until 2025-06-15 15:07:10 UTC,",
        DEFAULT,
    ),
    "WITHIN_FAIR_SHARE": (
        lambda: two_queues(2, 2).pending("job", queue="q", gpus=1).build(),
        "reclaim",
        "its queue is within its fair share",
        DEFAULT,
    ),
    "OVER_FAIR_SHARE": (
        lambda: two_queues(1, 1).pending("job", queue="q", gpus=2).build(),
        "reclaim",
        "pod group job cannot evict any pod group because its queue would exceed its fair share",
        DEFAULT,
    ),
    "NO_SOLUTION": (
        lambda: (
            ClusterBuilder()
            .node("n1", gpus=2)
            .queue("q")
            .running("old", queue="q", gpus=1, node="n1")
            .running("firm", queue="q", gpus=1, node="n1", priority=120)
            .pending("job", queue="q", gpus=2, priority=60)
            .build()
        ),
        "preempt",
        "evicting it alone would not free enough resources",
        DEFAULT,
    ),
    "NO_SOLUTION, beside a pod with its host port": (
        lambda: (
            single_queue(2)
            .running("old", queue="q", gpus=1, node="n1")
            .running("firm", queue="q", gpus=1, node="n1", priority=120, host_ports=[HostPort(80, "TCP")])
            .pending("job", queue="q", gpus=1, priority=60, host_ports=[HostPort(80, "TCP")])
            .build()
        ),
        "preempt",
        "evicting it alone would free enough resources, but not where the preemptor's pods may run.",
        DEFAULT,
    ),
    "NO_SOLUTION, beside a limit": (
        lambda: (
            ClusterBuilder()
            .node("n1", gpus=4)
            .queue("q", limit=2)
            .running("old", queue="q", gpus=1, node="n1")
            .running("firm", queue="q", gpus=1, node="n1", priority=120)
            .pending("job", queue="q", gpus=2, priority=60)
            .build()
        ),
        "preempt",
        "evicting it alone would not suffice: a limit or quota would still be exceeded.",
        DEFAULT,
    ),
    "NO_SOLUTION, beside a pod that finds no other place": (
        lambda: (
            ClusterBuilder()
            .node("n1", gpus=2)
            .node("n2", gpus=2)
            .queue("q")
            .queue("other")
            .running("old", queue="other", gpus=1, node="n1", host_ports=[HostPort(80, "TCP")])
            .running("firm", queue="q", gpus=1, node="n2", priority=120, host_ports=[HostPort(80, "TCP")])
            .pending("job", queue="q", gpus=2)
            .build()
        ),
        "consolidation",
        "relocating it alone would not let the preemptor start.",
        replace(DEFAULT, actions=("allocate", "consolidation")),
    ),
}


@pytest.mark.parametrize("case", NOT)
def test_first_rejection_of_a_candidate_is_reported(case: str) -> None:
    build, action, explanation, profile = NOT[case]
    cluster = build()
    answer = why_not_victim(CycleReplay(cluster, profile), index(cluster, "old"), index(cluster))
    assert answer.reasons[0].code.name == case.partition(",")[0]
    joint = ": " if explanation.startswith("pod group job cannot") else " because "
    assert f"is not evicted by {action}{joint}{explanation}" in answer.text.public


PLAIN: Mapping[str, tuple[Callable[[], Cluster], str, str, str]] = {
    "it is evicted": (
        evicted_for_job,
        "old",
        "job",
        "Another workload of its queue is evicted for pod group job.",
    ),
    "itself": (evicted_for_job, "job", "job", "Pod group job is not evicted for itself."),
    "nothing runs": (
        lambda: (
            full_node()
            .pending("late", queue="q", gpus=1)
            .pending("job", queue="q", gpus=1, priority=60)
            .build()
        ),
        "late",
        "job",
        "Another workload of its queue has no running pod that could be evicted.",
    ),
    "nobody waits": (three_candidates, "old", "next", "Pod group next is not pending."),
    "there is room": (
        lambda: (
            single_queue(2)
            .running("old", queue="q", gpus=1, node="n1")
            .pending("job", queue="q", gpus=1)
            .build()
        ),
        "old",
        "job",
        "Pod group job is scheduled without evictions.",
    ),
    "others come first": (
        three_candidates,
        "last",
        "job",
        "Another workload of its queue could be evicted for pod group job by preempt, "
        "but was not needed. Other victims, "
        "such as another workload of its queue, freed enough capacity.",
    ),
    "no action does": (
        evicted_for_job,
        "old",
        "job",
        "Another workload of its queue is not evicted: no action of the profile can evict it for this "
        "preemptor.",
    ),
}


@pytest.mark.parametrize("case", PLAIN)
def test_requests_with_a_wrong_premise_get_a_plain_explanation(case: str) -> None:
    build, victim, preemptor, explanation = PLAIN[case]
    cluster = build()
    profile = replace(DEFAULT, actions=("allocate",)) if case == "no action does" else DEFAULT
    answer = why_not_victim(CycleReplay(cluster, profile), index(cluster, victim), index(cluster, preemptor))
    assert answer.text.public == explanation


def test_pod_group_without_leaf_queue_cannot_evict() -> None:
    builder = single_queue(1).running("old", queue="q", gpus=1, node="n1")
    cluster = builder.queue("top").queue("leaf", parent="top").pending("job", queue="top", gpus=1).build()
    answer = why_not_victim(CycleReplay(cluster, DEFAULT), index(cluster, "old"), index(cluster))
    assert "cannot evict any pod group because its queue has child queues" in answer.text.public


def test_operators_see_why_a_pod_group_is_not_requeued() -> None:
    builder = (
        ClusterBuilder().node("n1", gpus=1).node("n2", gpus=1).queue("q", quota=2).queue("other", quota=2)
    )
    builder.running("old", queue="other", gpus=1, node="n1", started_ago="2h", expected_runtime="1h")
    builder.running("firm", queue="other", gpus=1, node="n2", priority=120)
    cluster = builder.pending("job", queue="q", gpus=1, count=2, priority=60).build()
    answer = why_not_victim(CycleReplay(cluster, DEFAULT), index(cluster, "old"), index(cluster))
    assert "requeue: it keeps running because no contender fits in its place" in answer.text.operator
    assert "requeue" not in answer.text.tenant
