"""Every gate independently checks the minimum, and only the minimum, against the quota (semantics R8.30)."""

import pytest
from tenure.solver.framework.session import Session
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.registry import BUILT_IN
from tenure.solver.testing import ClusterBuilder
from tenure.terms.reasons import ReasonCode

from tests.solver.sessions import open_session

SEMI = Preemptibility.SEMI_PREEMPTIBLE
OVER_QUOTA = ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA
OVER_SHARE = ReasonCode.OVER_FAIR_SHARE


def gate_session(quota: int, running: int) -> Session:
    """Pod group 0 has a minimum of two and this many of three pods running. Fair share: three GPUs."""
    builder = ClusterBuilder().node("n", gpus=3).queue("q", quota=quota)
    builder.pod_group("job", queue="q", min_member=2, preemptibility=SEMI)
    builder.running("job", gpus=1, count=running, node="n").pending("job", gpus=1, count=3 - running)
    return open_session(builder.build())


MINIMUM_OR_SURPLUS = {
    "the minimum within quota": (2, 0, [0, 1], True),
    "the minimum beyond quota": (1, 0, [0, 1], False),
    "the rest of the minimum within quota": (2, 1, [1], True),
    "the rest of the minimum beyond quota": (1, 1, [1], False),
    "surplus beyond quota": (2, 2, [2], True),
    "the minimum and surplus at once, the minimum within quota": (2, 0, [0, 1, 2], True),
    "the minimum and surplus at once, the minimum beyond quota": (1, 0, [0, 1, 2], False),
}
gates = pytest.mark.parametrize(
    ("quota", "running", "tasks", "expected"), MINIMUM_OR_SURPLUS.values(), ids=MINIMUM_OR_SURPLUS
)


@gates
def test_capacity_gate_limits_the_minimum_to_quota_r4_61(
    quota: int, running: int, tasks: list[int], expected: bool
) -> None:
    session = gate_session(quota, running)
    chains, demand = session.chains, session.ledger.demand(tasks)
    rejection = chains.has_capacity(0, tasks, demand)
    assert (rejection.code if rejection else None) == (None if expected else OVER_QUOTA)


@gates
@pytest.mark.parametrize(
    ("action", "code"), [("reclaim", OVER_SHARE), ("preempt", OVER_QUOTA), ("consolidation", None)]
)
def test_gate_of_the_action_limits_the_minimum_to_quota_r4_40_r6_21(
    action: str, code: ReasonCode | None, quota: int, running: int, tasks: list[int], expected: bool
) -> None:
    session = gate_session(quota, running)
    rejection = session.chains.admits(BUILT_IN.actions[action], 0, tasks)
    assert (rejection.code if rejection else None) == (None if expected else code)


@gates
def test_reclaim_validator_limits_the_minimum_to_quota_r4_56(
    quota: int, running: int, tasks: list[int], expected: bool
) -> None:
    session = gate_session(quota, running)
    rejection = _verdict(session, tasks)
    assert rejection == (None if expected else OVER_QUOTA)


def test_allocations_of_the_same_cycle_count_r8_32() -> None:
    """The minimum of `first` uses up the quota of three GPUs before the search for `second` starts."""
    builder = ClusterBuilder().node("n", gpus=8).queue("q", quota=3)
    builder.pending("first", queue="q", gpus=1, count=3, min_member=2, preemptibility=SEMI)
    builder.pending("second", queue="q", gpus=1, count=2, min_member=2, preemptibility=SEMI)
    session = open_session(builder.build())
    assert _verdict(session, [3, 4]) is None
    with session.statement() as statement:
        for task in (0, 1):
            statement.allocate(task, 0)
        assert _verdict(session, [3, 4]) is OVER_QUOTA
    assert _verdict(session, [3, 4]) is None


def _verdict(session: Session, tasks: list[int]) -> ReasonCode | None:
    """Rejection of a reclaim for these tasks without victims, after they are placed."""
    chains, pod_group = session.chains, session.cluster.tasks[tasks[0]].pod_group
    chains.on_search_start(pod_group, tasks)
    with session.statement() as statement:
        for task in tasks:
            statement.pipeline(task, 0)
        scenario = Scenario(pod_group, tuple(tasks), (), ())
        rejection = chains.allows_scenario(BUILT_IN.actions["reclaim"], scenario)
    return rejection.code if rejection else None


@pytest.mark.parametrize(
    ("minimum", "expected"), [(1, OVER_QUOTA), (0, None)], ids=["as part of the minimum", "as surplus"]
)
def test_devices_of_a_shared_claim_count_for_its_users(minimum: int, expected: ReasonCode | None) -> None:
    """Two pods use two devices through one claim, of a quota of three. Two more devices are requested."""
    builder = ClusterBuilder().node("n", devices={"gpu.example.com": 8}).queue("q", quota=3)
    builder.claim("theirs", {"gpu.example.com": 2}, queue="q")
    builder.claim("mine", {"gpu.example.com": 2}, queue="q")
    builder.running(
        "a", queue="q", node="n", count=2, claims=["theirs"], min_member=minimum, preemptibility=SEMI
    )
    builder.pending("b", queue="q", count=2, claims=["mine"], preemptibility=SEMI)
    session = open_session(builder.build())
    (group,) = (group for group in session.cluster.pod_groups if group.facts.name == "b")
    chains, demand = session.chains, session.ledger.demand(group.tasks)
    rejection = chains.has_capacity(group.index, group.tasks, demand)
    assert (rejection.code if rejection else None) is expected
