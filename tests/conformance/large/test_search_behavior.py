"""Behavior of the reference in searches and queue orders, each against what Tenure does."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.workload_parts import TopologyConstraint
from tenure.solver.open_context import search_components
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.registry import default_profile
from tenure.solver.search import queue_tree
from tenure.solver.testing import ClusterBuilder, statuses

from tests.conformance.large.reference_behavior import Behavior, imitating
from tests.solver.sessions import ledger_state, open_session

pytestmark = pytest.mark.skipif(
    not str(queue_tree.__file__).endswith(".py"), reason="compiled functions cannot be replaced"
)
PLAIN = replace(default_profile(), options=CycleOptions(speedups=(), victim_choice="inOrder"))


@pytest.mark.parametrize(("behaviors", "copies"), [([], 0), ([Behavior.LEFT_BEHIND], 1)])
def test_an_undone_move_to_another_device_leaves_a_copy(behaviors: Sequence[Behavior], copies: int) -> None:
    builder = ClusterBuilder().queue("q").node("n", gpus=2)
    builder.running("part", queue="q", gpus=0.5, node="n", gpu_groups=("n/gpu-0",))
    session = open_session(builder.build())
    before, info = ledger_state(session.ledger), session.ledger.node_infos[0]
    share = info.gpus["n/gpu-0"].used
    with imitating(behaviors), session.statement() as statement:
        statement.evict(0)
        statement.pipeline(0, 0, ("n/gpu-1",))
    device = info.gpus["n/gpu-0"]
    assert (device.used, device.releasing) == (share * (1 + copies), share * copies)
    assert (ledger_state(session.ledger) == before) is not bool(copies)


@pytest.mark.parametrize(
    ("behaviors", "status"),
    [([], TaskStatus.RELEASING), ([Behavior.PLACED_DEMAND], TaskStatus.RUNNING)],
)
def test_running_pods_count_as_demand_of_their_domain(
    behaviors: Sequence[Behavior], status: TaskStatus
) -> None:
    """Every rack can free one GPU, which is all that the second pod of the gang needs."""
    builder = ClusterBuilder().topology("dc", "rack").queue("q")
    for number in (1, 2):
        builder.node(f"n{number}", gpus=2, labels={"rack": f"r{number}"})
        builder.running(f"low-{number}", queue="q", gpus=1, node=f"n{number}", priority=10)
    builder.running("other", queue="q", gpus=1, node="n2", priority=100)
    required = TopologyConstraint("dc", required_level="rack")
    builder.pod_group("gang", queue="q", priority=80, min_member=1, topology=required)
    builder.running("gang", gpus=1, node="n1").pending("gang", gpus=1)
    cluster = builder.build()
    with imitating(behaviors):
        after = statuses(cluster, answer(cluster, PLAIN))
    assert after["low-1-0"].status is status
    assert after["low-2-0"].status is TaskStatus.RUNNING


@pytest.mark.parametrize(
    ("behaviors", "order"),
    [([], ["b", "c", "a-large", "a-small"]), ([Behavior.FIRST_ADDED], ["c", "b", "a-large", "a-small"])],
)
def test_a_queue_stands_by_the_pod_group_that_was_added_first(
    behaviors: Sequence[Behavior], order: list[str]
) -> None:
    """`a` precedes `b` by its small pod group, and so represents their parent with its large one."""
    builder = ClusterBuilder().node("n", gpus=40)
    builder.queue("left", quota=20).queue("right", quota=10)
    for name, parent in (("a", "left"), ("b", "left"), ("c", "right")):
        builder.queue(name, parent=parent, quota=10)
    builder.pending("a-small", queue="a", gpus=1, priority=10).pending(
        "a-large", queue="a", gpus=8, priority=90
    )
    builder.pending("b", queue="b", gpus=2, priority=50).pending("c", queue="c", gpus=3, priority=50)
    cluster = builder.build()
    session = open_session(cluster)
    context = CycleContext.open(session, search_components(session))
    with imitating(behaviors):
        tree, found = context.pending(lambda group: None), list[str]()
        while (entry := tree.pop()) is not None:
            found.append(cluster.pod_groups[entry.pod_group].facts.uid)
    assert found == order
