"""Host ports: no two pods on a node use one, whoever they belong to; victims free theirs later."""

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.constraints import HostPort, OtherPods
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, TaskState, statuses

HTTP = HostPort(80)
FIRM = Preemptibility.NON_PREEMPTIBLE


def states(builder: ClusterBuilder) -> dict[str, TaskState]:
    built = builder.build()
    return statuses(built, answer(built, default_profile()))


@pytest.mark.parametrize(
    ("used", "asked", "starts"),
    [
        pytest.param(HTTP, HTTP, False, id="the same port"),
        pytest.param(HTTP, HostPort(81), True, id="another port"),
        pytest.param(HTTP, HostPort(80, "UDP"), True, id="another protocol"),
        pytest.param(HTTP, HostPort(80, ip="10.0.0.1"), False, id="used on all addresses"),
        pytest.param(HostPort(80, ip="10.0.0.1"), HTTP, False, id="asked for on all addresses"),
        pytest.param(HostPort(80, ip="10.0.0.1"), HostPort(80, ip="10.0.0.1"), False, id="one address"),
        pytest.param(HostPort(80, ip="10.0.0.1"), HostPort(80, ip="10.0.0.2"), True, id="other addresses"),
    ],
)
@pytest.mark.parametrize("is_other", [False, True], ids=["of a pod", "of a pod that is no task"])
def test_port_is_free_unless_used_on_the_same_address(
    used: HostPort, asked: HostPort, starts: bool, is_other: bool
) -> None:
    builder = ClusterBuilder().queue("q")
    if is_other:
        builder.node("n", other_pods=[OtherPods("them", host_ports=(used,))])
    else:
        builder.node("n").running("web", queue="q", node="n", host_ports=[used], preemptibility=FIRM)
    builder.pending("asks", queue="q", host_ports=[asked])
    assert (states(builder)["asks-0"].status is TaskStatus.BINDING) is starts


def test_pods_of_a_gang_with_one_port_go_to_different_nodes() -> None:
    builder = ClusterBuilder().node("a").node("b").queue("q")
    found = states(builder.pending("web", queue="q", host_ports=[HTTP], count=2, min_member=2))
    assert {state.node for state in found.values()} == {"a", "b"}


def test_gang_with_more_pods_than_free_ports_waits_as_a_whole() -> None:
    builder = ClusterBuilder().node("a").node("b").queue("q")
    found = states(builder.pending("web", queue="q", host_ports=[HTTP], count=3, min_member=3))
    assert {state.status for state in found.values()} == {TaskStatus.PENDING}


def test_port_of_a_terminating_pod_is_in_use() -> None:
    builder = ClusterBuilder().node("a").node("b").queue("q")
    builder.pods("old", TaskStatus.RELEASING, queue="q", node="a", host_ports=[HTTP], cpus=30)
    builder.pending("new", queue="q", count=2, min_member=1, host_ports=[HTTP])
    found = states(builder)
    assert sorted((found[uid].status, found[uid].node) for uid in ("new-0", "new-1")) == [
        (TaskStatus.PENDING, ""),
        (TaskStatus.BINDING, "b"),
    ]


def test_pod_of_higher_priority_evicts_the_pod_that_uses_its_port() -> None:
    builder = ClusterBuilder().node("n").queue("q")
    builder.running("low", queue="q", node="n", host_ports=[HTTP], priority=50)
    builder.pending("high", queue="q", host_ports=[HTTP], priority=90)
    decision = answer(builder.build(), default_profile())
    assert [group.action for group in decision.groups if list(group.evictions)] == ["preempt"]
