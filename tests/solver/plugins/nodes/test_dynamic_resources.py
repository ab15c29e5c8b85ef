"""Resource claims: one node per claim, devices counted once, also in quotas and limits (semantics R9.41)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import OutcomeKind
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.plugin_api.profile import PluginConfig
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, TaskState, statuses
from tenure.terms.reasons import ReasonCode

from tests.solver.sessions import open_session, session_state

GPU, NIC = "gpu.example.com", "nic.example.com"
PENDING, BINDING, RUNNING = TaskStatus.PENDING, TaskStatus.BINDING, TaskStatus.RUNNING
PIPELINED, RELEASING = TaskStatus.PIPELINED, TaskStatus.RELEASING


def cluster(gpus: int = 2, **node: Any) -> ClusterBuilder:
    """Two nodes whose GPUs are allocated through claims only."""
    return ClusterBuilder().node("n1", devices={GPU: gpus}, **node).node("n2", devices={GPU: gpus}, **node)


def shared_claim(builder: ClusterBuilder, count: int = 2, queue: str = "q", **options: Any) -> ClusterBuilder:
    return builder.claim("shared", {GPU: count}, queue=queue, **options)


def placements_after(builder: ClusterBuilder, *actions: str) -> dict[str, TaskState]:
    built, profile = builder.build(), default_profile()
    return statuses(built, answer(built, replace(profile, actions=actions or profile.actions)))


def statuses_after(builder: ClusterBuilder, *actions: str) -> list[TaskStatus]:
    return [state.status for _, state in sorted(placements_after(builder, *actions).items())]


def test_claim_of_one_pod_uses_devices_of_its_node() -> None:
    builder = cluster().queue("q").claim("a", {GPU: 2}, queue="q").claim("b", {GPU: 1}, queue="q")
    builder.pending("a", queue="q", claims=["a"]).pending("b", queue="q", claims=["b"])
    assert placements_after(builder) == {"a-0": (BINDING, "n1"), "b-0": (BINDING, "n2")}


def test_pods_with_a_shared_claim_are_on_one_node_and_use_its_devices_once() -> None:
    builder = shared_claim(cluster()).queue("q").pending("job", queue="q", claims=["shared"], count=3)
    assert set(placements_after(builder).values()) == {(BINDING, "n1")}


def test_pod_is_placed_where_its_claim_is_in_use() -> None:
    builder = shared_claim(cluster()).queue("q").running("first", queue="q", node="n2", claims=["shared"])
    assert placements_after(builder.pending("next", queue="q", claims=["shared"]))["next-0"] == (
        BINDING,
        "n2",
    )


def test_pod_is_pending_when_the_node_of_its_claim_is_full() -> None:
    builder = (
        shared_claim(cluster(cpus=1)).queue("q").running("first", queue="q", node="n2", claims=["shared"])
    )
    assert placements_after(builder.pending("next", queue="q", claims=["shared"]))["next-0"].status is PENDING


@pytest.mark.parametrize(
    ("node", "expected"), [({"gpus": 1}, PENDING), ({"devices": {GPU: 1}}, BINDING)], ids=["plain", "claimed"]
)
def test_claims_get_devices_of_their_class_only(node: Mapping[str, Any], expected: TaskStatus) -> None:
    builder = ClusterBuilder().node("n", **node).queue("q").claim("a", {GPU: 1}, queue="q")
    assert statuses_after(builder.pending("job", queue="q", claims=["a"])) == [expected]


def test_whole_gpus_and_claims_share_the_devices_of_a_node() -> None:
    builder = ClusterBuilder().node("n", devices={GPU: 2}).queue("q").claim("a", {GPU: 1}, queue="q")
    builder.pending("a", queue="q", claims=["a"]).pending("b", queue="q", gpus=1).pending(
        "c", queue="q", gpus=1
    )
    assert statuses_after(builder) == [BINDING, BINDING, PENDING]


def test_gpu_shares_are_not_placed_on_nodes_with_claimable_gpus_only_r1_30() -> None:
    builder = ClusterBuilder().node("n", devices={GPU: 2}, gpu_memory_mib=1000).queue("q")
    assert statuses_after(builder.pending("job", queue="q", gpus=0.5)) == [PENDING]


def test_other_devices_are_counted_by_class_and_not_as_gpus() -> None:
    builder = ClusterBuilder().node("n", devices={NIC: 2}, gpus=2).queue("q", limit=0)
    for name in "abc":
        builder.claim(name, {NIC: 1}).pending(name, queue="q", claims=[name])
    assert statuses_after(builder) == [BINDING, BINDING, PENDING]


def test_claim_can_contain_devices_of_several_classes() -> None:
    builder = ClusterBuilder().node("n1", devices={GPU: 4, NIC: 1}).node("n2", devices={GPU: 4}).queue("q")
    for name in "ab":
        builder.claim(name, {GPU: 1, NIC: 1}, queue="q").pending(name, queue="q", claims=[name])
    assert placements_after(builder) == {"a-0": (BINDING, "n1"), "b-0": (PENDING, "")}


SHARING = {
    "within the limit, since devices count once": ({"limit": 2}, {}, [BINDING] * 3),
    "over the limit": ({"limit": 1}, {}, [PENDING] * 3),
    "over the quota of what cannot be taken back": (
        {"quota": 1},
        {"preemptibility": Preemptibility.NON_PREEMPTIBLE},
        [PENDING] * 3,
    ),
    "within that quota": (
        {"quota": 2},
        {"preemptibility": Preemptibility.NON_PREEMPTIBLE},
        [BINDING] * 3,
    ),
}


@pytest.mark.parametrize(("queue", "group", "expected"), SHARING.values(), ids=SHARING)
def test_a_shared_claim_counts_once_in_its_queue(
    queue: Mapping[str, Any], group: Mapping[str, Any], expected: list[TaskStatus]
) -> None:
    builder = shared_claim(cluster()).queue("q", **queue)
    assert statuses_after(builder.pending("job", queue="q", claims=["shared"], count=3, **group)) == expected


def test_pod_that_joins_a_shared_claim_is_not_charged_to_its_queue() -> None:
    builder = shared_claim(cluster()).queue("q", limit=2)
    builder.running("first", queue="q", node="n1", claims=["shared"])
    assert placements_after(builder.pending("next", queue="q", claims=["shared"]))["next-0"] == (
        BINDING,
        "n1",
    )


def test_queue_usage_includes_its_claims() -> None:
    builder = shared_claim(cluster(4)).queue("q").claim("own", {GPU: 1}, queue="q")
    builder.running("a", queue="q", node="n1", claims=["shared"], count=2)
    builder.running("b", queue="q", node="n1", claims=["own"])
    decision = answer(builder.build(), default_profile())
    assert decision.queues[0].allocated_before[2] == 3000


def test_claims_are_reclaimed() -> None:
    builder = shared_claim(cluster().queue("poor", quota=4).queue("q", quota=0))
    builder.claim("other", {GPU: 2}, queue="q").claim("mine", {GPU: 2}, queue="poor")
    builder.running("b", queue="q", node="n2", claims=["other"], count=3)
    builder.running("a", queue="q", node="n1", claims=["shared"], count=2)
    found = placements_after(builder.pending("mine", queue="poor", claims=["mine"]))
    assert found["mine-0"] == (PIPELINED, "n1")
    assert (found["a-0"], found["a-1"]) == ((RELEASING, "n1"), (RELEASING, "n1"))
    assert found["b-0"] == (RUNNING, "n2")


def test_claim_is_occupied_while_any_pod_uses_it() -> None:
    """Only one of the two pods that share the claim can be evicted, so their devices stay in use."""
    builder = shared_claim(cluster(2, pods=4).queue("q"))
    builder.running("low", queue="q", node="n1", claims=["shared"], priority=10)
    builder.running("high", queue="q", node="n1", claims=["shared"], priority=90)
    builder.claim("other", {GPU: 2}, queue="q").running(
        "b", queue="q", node="n2", claims=["other"], priority=90
    )
    builder.claim("mine", {GPU: 2}, queue="q").pending("mine", queue="q", claims=["mine"], priority=50)
    assert placements_after(builder)["mine-0"].status is PENDING


def test_claim_of_terminating_pods_can_be_pipelined_elsewhere_but_not_bound() -> None:
    builder = (
        shared_claim(cluster(2)).queue("q").pods("old", RELEASING, queue="q", node="n1", claims=["shared"])
    )
    builder.running("fills", queue="q", node="n1", cpus=63)
    assert placements_after(builder.pending("next", queue="q", claims=["shared"], cpus=2))["next-0"] == (
        PIPELINED,
        "n2",
    )


def test_devices_of_terminating_pods_are_reserved_for_pending_pods() -> None:
    builder = (
        shared_claim(ClusterBuilder().node("n", devices={GPU: 2}))
        .queue("q")
        .claim("own", {GPU: 2}, queue="q")
    )
    builder.pods("old", RELEASING, queue="q", node="n", claims=["shared"])
    assert statuses_after(builder.pending("next", queue="q", claims=["own"]), "allocate") == [
        PIPELINED,
        RELEASING,
    ]


def test_foreign_consumers_pin_the_claim_without_charging_the_queue() -> None:
    builder = shared_claim(cluster(2), node="n2", other_consumers=1).queue("q", limit=0)
    assert placements_after(builder.pending("job", queue="q", claims=["shared"]))["job-0"] == (BINDING, "n2")


@pytest.mark.parametrize(("others", "expected"), [(253, BINDING), (254, PENDING), (256, PENDING)])
def test_claim_has_at_most_256_consumers(others: int, expected: TaskStatus) -> None:
    builder = shared_claim(cluster(), other_consumers=others).queue("q")
    assert statuses_after(builder.pending("gang", queue="q", claims=["shared"], count=3)) == [expected] * 3


def test_claim_with_all_its_consumers_has_a_reason() -> None:
    builder = (
        shared_claim(cluster(), other_consumers=256).queue("q").pending("job", queue="q", claims=["shared"])
    )
    (outcome,) = answer(builder.build(), default_profile()).outcomes
    assert outcome.reason.detail.endswith("device claim shared is used by 256 pods already, of 256 at most")
    assert outcome.reason.source == "dynamicresources"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"queue": "q"}, BINDING),
        ({"queue": "other"}, PENDING),
        ({}, PENDING),
        ({"from_template": True}, BINDING),
    ],
    ids=["its queue", "another queue", "no queue", "from a template"],
)
def test_claims_for_gpus_carry_the_queue_of_their_pods(
    options: Mapping[str, Any], expected: TaskStatus
) -> None:
    builder = cluster().queue("q").claim("a", {GPU: 1}, **options).pending("job", queue="q", claims=["a"])
    assert statuses_after(builder) == [expected]


def test_queue_of_a_claim_is_checked_by_the_plugin_only() -> None:
    builder = cluster().queue("q").claim("a", {GPU: 1}).pending("job", queue="q", claims=["a"])
    built, profile = builder.build(), default_profile()
    (blocked,) = answer(built, profile).outcomes
    assert (blocked.kind, blocked.reason.code) == (OutcomeKind.INFEASIBLE, ReasonCode.BLOCKED)
    without = tuple(plugin for plugin in profile.plugins if plugin != PluginConfig("dynamicresources"))
    assert statuses(built, answer(built, replace(profile, plugins=without)))["job-0"].status is BINDING


def test_claim_beyond_every_node_causes_no_search() -> None:
    builder = shared_claim(cluster(), count=10_001).queue("q", quota=2).queue("victims", quota=0)
    builder.claim("theirs", {GPU: 2}, queue="victims").running(
        "v", queue="victims", node="n1", claims=["theirs"]
    )
    builder.claim("others", {GPU: 2}, queue="victims").running(
        "w", queue="victims", node="n2", claims=["others"]
    )
    builder.pending("huge", queue="q", claims=["shared"], count=2, min_member=1, priority=10)
    builder.claim("mine", {GPU: 2}, queue="q").pending("mine", queue="q", claims=["mine"])
    found = placements_after(builder)
    assert {found["huge-0"].status, found["huge-1"].status} == {PENDING}
    assert found["mine-0"].status is PIPELINED


def test_moves_of_pods_with_a_shared_claim_are_undone_exactly() -> None:
    builder = shared_claim(cluster(), queue="q").queue("q").queue("other")
    firm = Preemptibility.NON_PREEMPTIBLE
    builder.running("a", queue="q", node="n1", claims=["shared"], preemptibility=firm)
    builder.running("b", queue="q", node="n1", claims=["shared"]).pending("c", queue="q", claims=["shared"])
    session = open_session(builder.build())
    tasks = {task.facts.uid: task.index for task in session.cluster.tasks}
    before = session_state(session)
    with session.statement() as statement:
        marks = []
        for move in (
            lambda: statement.evict(tasks["a-0"]),
            lambda: statement.evict(tasks["b-0"]),
            lambda: statement.pipeline(tasks["c-0"], 1),
            lambda: statement.pipeline(tasks["b-0"], 1),
            lambda: statement.pipeline(tasks["a-0"], 1),
        ):
            marks.append((statement.checkpoint(), session_state(session)))
            move()
        for mark, state in reversed(marks):
            statement.rollback(mark)
            assert session_state(session) == state
    assert session_state(session) == before
