"""What the owner of a running pod group changes takes nothing from the queue that lent its GPUs (8.4)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest
from google.protobuf import json_format
from tenure.client import Client, StateSession
from tenure.codec.engine import Engine
from tenure.codec.simulation import SimulationEngine
from tenure.solver.plugin_api.profile import PluginConfig
from tenure.solver.registry import default_profile
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import WARNING_CODE_UNKNOWN_SUB_GROUP, DecideRequest, DecideResponse
from tenure.v1.decision_pb2 import (
    OUTCOME_KIND_INVALID_POD_GROUP,
    REASON_CODE_NON_PREEMPTIBLE_OVER_QUOTA,
)
from tenure.v1.simulate_pb2 import SimulateRequest, SimulateResponse

from tests.server.servers import run_server

NOW: Final = "2025-03-03T10:00:00Z"
LATER: Final = "2025-03-03T10:01:00Z"
BASE: Final = {
    "clusterId": "c",
    "version": 1,
    "now": NOW,
    "nodes": [
        {
            "name": "n",
            "nodeClass": "a",
            "allocatable": {"cpuMilli": 64000, "memoryBytes": 512 * 10**9, "gpuMilli": 8000, "pods": 110},
        }
    ],
    "queues": [
        {"name": "research", "gpuMilli": {"quota": 8000}},
        {"name": "borrows", "parent": "research", "gpuMilli": {"quota": 0}},
        {"name": "lends", "parent": "research", "gpuMilli": {"quota": 8000}},
    ],
    "shapes": [{"id": "one", "requests": {"cpuMilli": 100, "memoryBytes": 1000}, "gpu": {"devices": 1}}],
    "podGroups": [
        {"uid": "runs", "name": "runs", "queue": "borrows", "priority": 50, "creationTime": NOW},
        {"uid": "own", "queue": "lends", "priority": 50, "creationTime": NOW},
    ],
    "pods": [
        *({"uid": f"r{i}", "podGroup": "runs", "shape": "one", "node": "n"} for i in range(8)),
        {"uid": "o", "podGroup": "own", "shape": "one", "status": "POD_STATUS_PENDING"},
    ],
}


def snapshot(
    grant: dict[str, object] | None, quota: int = 0, queues: str = "borrows", **request: object
) -> pb.ClusterSnapshot:
    """Eight GPUs that a queue borrows with a grant, its request, the quota, and an owner that waits."""
    made = json_format.ParseDict(BASE, pb.ClusterSnapshot())
    group = made.pod_groups[0]
    group.last_start_time.CopyFrom(made.now)
    if grant is not None:
        given: dict[str, object] = {
            "queue": "borrows",
            "preemptibility": "PREEMPTIBILITY_PREEMPTIBLE",
            "minPods": 1,
        }
        json_format.ParseDict({**given, **grant} if grant else {}, group.grant)
        group.grant.SetInParent()
    json_format.ParseDict({"preemptibility": "PREEMPTIBILITY_PREEMPTIBLE", **request}, group)
    for queue in made.queues:
        if queue.name == queues:
            queue.gpu_milli.quota = quota
    for pod in made.pods:
        if pod.pod_group == "runs":
            pod.status = pb.POD_STATUS_RUNNING
    return made


def decide(made: pb.ClusterSnapshot, *guards: str) -> DecideResponse:
    profile = default_profile()
    profile = replace(profile, plugins=(*profile.plugins, *map(PluginConfig, guards)))
    request = DecideRequest(snapshot=made, include_pod_group_statuses=True)
    return Engine(profile).decide(request).parse()


def evicted(response: DecideResponse) -> int:
    return sum(step.HasField("evict") for group in response.groups for step in group.decisions)


def stored(response: DecideResponse, uid: str = "runs") -> pb.Grant | None:
    """The grant that the caller is to store; None: it stays."""
    patches = [step.patch for group in response.groups for step in group.decisions if step.HasField("patch")]
    found = [each.grant for each in patches if each.HasField("grant") and each.pod_group == uid]
    assert len(found) <= 1
    return found[0] if found else None


def mode(name: str) -> str:
    return f"PREEMPTIBILITY_{name}"


NON, SEMI, SOFT = mode("NON_PREEMPTIBLE"), mode("SEMI_PREEMPTIBLE"), mode("PREEMPTIBLE")
KEY: Final = "kai.scheduler/preemptibility"
WISHES: Final[dict[str, dict[str, object]]] = {
    "nothing": {},
    "non-preemptible": {"preemptibility": NON},
    "semi-preemptible, with a minimum of all": {"preemptibility": SEMI, "minMember": 8},
    "an unknown value": {"preemptibility": "PREEMPTIBILITY_UNSPECIFIED", "annotations": {KEY: "never"}},
    "a priority that protects": {"preemptibility": "PREEMPTIBILITY_UNSPECIFIED", "priority": 100},
    "no eviction by reclaim": {"optOutActions": ["reclaim"]},
    "no relocation": {"optOutActions": ["consolidation"]},
    "no eviction by any action": {"optOutActions": ["reclaim", "preempt", "consolidation", "requeue"]},
}


@pytest.mark.parametrize("wish", WISHES.values(), ids=WISHES)
def test_later_wish_takes_nothing_from_the_owner_r8_40(wish: dict[str, object]) -> None:
    made = snapshot({}, **wish)
    assert evicted(decide(made)) > 0
    assert bool(not_in_force(decide(made))) == bool(wish)


@pytest.mark.parametrize("name", [*WISHES])
def test_without_grants_every_wish_counts_at_once_r8_42(name: str) -> None:
    """What protects from reclaim keeps the GPUs."""
    keeps = name not in ("nothing", "no relocation")
    assert evicted(decide(snapshot(None, **WISHES[name]))) == (not keeps)


GRANTS: Final[dict[str, tuple[dict[str, object], dict[str, object], int]]] = {
    "what was given stays, whatever the quota is now": ({"preemptibility": NON}, {"preemptibility": NON}, 0),
    "less counts at once": ({"preemptibility": NON}, {"preemptibility": SOFT}, 1),
    "the part that was given counts": (
        {"preemptibility": SEMI, "minPods": 8},
        {"preemptibility": NON, "minMember": 8},
        0,
    ),
    "a larger core does not": (
        {"preemptibility": SEMI, "minPods": 2},
        {"preemptibility": SEMI, "minMember": 8},
        1,
    ),
    "nor does one by both ways": (
        {"preemptibility": SEMI, "minPods": 2},
        {"preemptibility": NON, "minMember": 8},
        1,
    ),
    "a smaller core counts at once": (
        {"preemptibility": SEMI, "minPods": 8},
        {"preemptibility": SEMI, "minMember": 2},
        1,
    ),
    "a larger gang does not count": (
        {"preemptibility": SOFT, "minPods": 2},
        {"preemptibility": SOFT, "minMember": 8},
        1,
    ),
    "an opt-out that was given stays": (
        {"optOutActions": ["reclaim"]},
        {"optOutActions": ["reclaim"]},
        0,
    ),
    "nothing was given in another queue": (
        {"queue": "lends", "preemptibility": NON},
        {"preemptibility": NON},
        1,
    ),
    "an empty grant gives nothing": ({}, {"preemptibility": NON}, 1),
}


@pytest.mark.parametrize(("grant", "wish", "evictions"), GRANTS.values(), ids=GRANTS)
def test_running_pod_group_keeps_the_lesser_of_grant_and_request_r8_40(
    grant: dict[str, object], wish: dict[str, object], evictions: int
) -> None:
    assert evicted(decide(snapshot(grant, **wish))) == evictions


@pytest.mark.parametrize(
    ("quota", "above", "counts"),
    [(8000, 8000, True), (7000, 8000, False), (8000, 7000, False)],
    ids=["all levels cover it", "its queue does not", "the queue above does not"],
)
def test_wish_counts_once_quotas_of_all_levels_cover_it_r8_41(quota: int, above: int, counts: bool) -> None:
    made = snapshot({"preemptibility": SOFT}, quota, preemptibility=NON)
    made.queues[0].gpu_milli.quota = above
    made.pod_groups[1].queue = "borrows"
    made.pod_groups[1].priority = 99
    response = decide(made)
    assert evicted(response) == (not counts)
    later = stored(response)
    assert (later is not None and later.preemptibility == pb.PREEMPTIBILITY_NON_PREEMPTIBLE) == counts


def test_what_counted_once_stays_when_the_quota_is_lowered_r8_41() -> None:
    covered = snapshot({"preemptibility": SOFT}, 8000, preemptibility=NON)
    later = stored(decide(covered))
    assert later is not None
    lowered = snapshot({}, 0, preemptibility=NON)
    lowered.pod_groups[0].grant.CopyFrom(later)
    response = decide(lowered)
    assert evicted(response) == 0
    assert stored(response) is None


def test_class_of_nodes_bounds_a_wish_r8_41() -> None:
    made = snapshot({"preemptibility": SOFT}, 8000, preemptibility=NON)
    assert stored(decide(made)) is not None
    made.queues[0].class_limits.add(node_class="a", quota_gpu_milli=7000)
    response = decide(made)
    assert stored(response) is None
    assert "queue research has 7 of 7 GPUs of class a of quota left" in not_in_force(response)


def test_class_without_a_bound_covers_a_wish_r8_41() -> None:
    made = snapshot({"preemptibility": SOFT}, 8000, preemptibility=NON)
    made.queues[0].class_limits.add(node_class="a", quota_gpu_milli=-1, limit_gpu_milli=-1)
    assert stored(decide(made)) is not None


@pytest.mark.parametrize("queue", ["gone", "research", ""])
def test_without_a_leaf_queue_a_running_pod_group_stays_in_that_of_its_grant_r8_46(queue: str) -> None:
    """The owner of a running pod group may write any queue: what it was lent is taken back all the same."""
    made = snapshot({"preemptibility": SOFT}, preemptibility=NON)
    made.pod_groups[0].queue = queue
    response = decide(made)
    assert evicted(response) > 0
    assert "queue borrows has 0 of 0 GPUs" in not_in_force(response)
    assert stored(response) is None


def test_with_pods_that_wait_it_goes_on_in_that_queue_r8_46() -> None:
    made = snapshot({"preemptibility": SOFT})
    made.pod_groups[0].queue = "gone"
    made.pods.add(uid="r8", pod_group="runs", shape="one", status=pb.POD_STATUS_PENDING)
    (outcome,) = (each for each in decide(made).outcomes if each.pod_group == "runs")
    assert outcome.kind != OUTCOME_KIND_INVALID_POD_GROUP


def test_without_pods_on_nodes_it_has_no_queue_r8_46() -> None:
    made = snapshot({"preemptibility": SOFT}, 8000)
    made.pod_groups[0].queue = "gone"
    for pod in made.pods:
        pod.status, pod.node = pb.POD_STATUS_PENDING, ""
    (outcome,) = (each for each in decide(made).outcomes if each.pod_group == "runs")
    assert outcome.kind == OUTCOME_KIND_INVALID_POD_GROUP


@pytest.mark.parametrize("queue", ["gone", "research", ""])
def test_without_any_leaf_queue_no_quota_covers_a_wish_r8_41(queue: str) -> None:
    made = snapshot({"preemptibility": SOFT, "queue": "gone, too"}, preemptibility=NON)
    made.pod_groups[0].queue = queue
    response = decide(made)
    assert f"queue {queue or 'none'} is no leaf queue" in not_in_force(response)
    assert stored(response) is not None


@pytest.mark.parametrize("parts", [[], ["one"], ["one", "two"]], ids=str)
@pytest.mark.parametrize("is_known", [True, False], ids=["by name", "unknown"])
def test_running_pod_of_any_subgroup_can_be_a_victim_r1_53(parts: list[str], is_known: bool) -> None:
    """The owner of a running pod may write the label that names its subgroup."""
    made = snapshot({})
    for part in parts:
        made.pod_groups[0].sub_groups.add(name=part, min_member=0)
    for pod in made.pods[:8]:
        pod.sub_group = parts[0] if is_known and parts else "none of them"
    response = decide(made)
    assert evicted(response) > 0
    warned = {warning.code for warning in response.warnings}
    assert (WARNING_CODE_UNKNOWN_SUB_GROUP in warned) == (not is_known or not parts)


def test_oldest_wish_comes_first_r8_41() -> None:
    made = snapshot({"preemptibility": SOFT}, 6000, preemptibility=NON)
    for uid, age in (("younger", 1), ("older", 2)):
        group = made.pod_groups.add()
        group.CopyFrom(made.pod_groups[0])
        group.uid = uid
        group.creation_time.seconds -= age
    for i, pod in enumerate(made.pods[:8]):
        pod.pod_group = "older" if i < 4 else "younger"
    response = decide(made)
    assert stored(response, "older") is not None
    assert stored(response, "younger") is None


def not_in_force(response: DecideResponse) -> str:
    (status,) = (each for each in response.pod_group_statuses if each.pod_group == "runs")
    return status.not_in_force


def test_status_says_which_quota_does_not_cover_it_r8_45() -> None:
    response = decide(snapshot({"preemptibility": SOFT}, preemptibility=NON))
    (status,) = (each for each in response.pod_group_statuses if each.pod_group == "runs")
    assert status.preemptibility == pb.PREEMPTIBILITY_PREEMPTIBLE
    assert status.requested_preemptibility == pb.PREEMPTIBILITY_NON_PREEMPTIBLE
    assert status.not_in_force == "Non-Preemptible: queue borrows has 0 of 0 GPUs of quota left"
    allowed = decide(snapshot({"preemptibility": NON}, preemptibility=NON))
    assert not_in_force(allowed) == ""


@pytest.mark.parametrize("stores", [True, False])
def test_start_stores_what_it_starts_with_r8_42(stores: bool) -> None:
    made = snapshot({} if stores else None, 8000, preemptibility=SEMI, minMember=3, expectedRuntime="3600s")
    for pod in made.pods:
        pod.status, pod.node = pb.POD_STATUS_PENDING, ""
    found = stored(decide(made))
    if not stores:
        assert found is None
        return
    assert found is not None
    expected = pb.Grant(queue="borrows", preemptibility=pb.PREEMPTIBILITY_SEMI_PREEMPTIBLE, min_pods=3)
    expected.expected_runtime.seconds = 3600
    assert found == expected


def test_grant_of_an_earlier_run_does_not_count_r8_40() -> None:
    made = snapshot({"preemptibility": SOFT}, 8000, preemptibility=NON)
    for pod in made.pods:
        pod.status, pod.node = pb.POD_STATUS_PENDING, ""
    found = stored(decide(made))
    assert found is not None
    assert found.preemptibility == pb.PREEMPTIBILITY_NON_PREEMPTIBLE


def test_gang_whose_grant_is_not_known_is_taken_as_a_whole_r8_40() -> None:
    """A caller that begins to store grants makes no gang elastic: the first minimum that is known counts."""
    made = snapshot({}, preemptibility=SOFT, minMember=8)
    response = decide(made)
    assert evicted(response) == 8
    made.pods.pop()
    later = stored(decide(made))
    assert later is not None
    assert later.min_pods == 8
    made.pod_groups[0].grant.CopyFrom(later)
    assert stored(decide(made)) is None


def test_uncovered_minimum_of_subgroups_protects_nothing_r8_44() -> None:
    made = snapshot({"preemptibility": SEMI, "minPods": 2}, preemptibility=SEMI)
    made.pod_groups[0].sub_groups.add(name="all", min_member=8)
    for pod in made.pods[:8]:
        pod.sub_group = "all"
    assert evicted(decide(made)) > 0
    made.pod_groups[0].grant.min_pods = 8
    assert evicted(decide(made)) == 0


def test_invalid_grant_is_refused_by_name() -> None:
    made = snapshot({"preemptibility": SOFT}, preemptibility=NON)
    made.pod_groups[0].grant.opt_out_actions.append("naps")
    with pytest.raises(ValueError, match=r"pod_groups\[0\].grant.opt_out_actions\[0\]"):
        decide(made)


RUNTIMES: Final[dict[str, tuple[dict[str, object], dict[str, object], int]]] = {
    "as at the start": ({"expectedRuntime": "3600s"}, {"expectedRuntime": "3600s"}, 0),
    "a later end, so that it would be over": ({"expectedRuntime": "3600s"}, {"expectedRuntime": "36000s"}, 0),
    "an earlier end that is near": ({"expectedRuntime": "36000s"}, {"expectedRuntime": "3600s"}, 1),
    "one that is near, where there was none": ({}, {"expectedRuntime": "3600s"}, 1),
    "none any more": ({"expectedRuntime": "3600s"}, {}, 0),
}


@pytest.mark.parametrize(("given", "wish", "evictions"), RUNTIMES.values(), ids=RUNTIMES)
def test_runtime_at_the_start_says_whether_it_is_near_completion_r8_43(
    given: dict[str, object], wish: dict[str, object], evictions: int
) -> None:
    """It has run for 59 of 60 minutes."""
    made = snapshot({"preemptibility": SOFT, **given}, **wish)
    made.now.seconds += 3_540
    assert evicted(decide(made, "nearcompletion")) == evictions


def test_simulated_cycles_follow_grants_r8_42() -> None:
    """What was lent returns; its pod group then starts as its owner wants, or waits for quota."""
    made = snapshot({"preemptibility": SOFT}, preemptibility=NON)
    made.pod_groups[1].grant.SetInParent()
    made.pods[8].shape = "eight"
    shape = made.shapes.add(id="eight", requests=made.shapes[0].requests)
    shape.gpu.devices = 8
    request = SimulateRequest(snapshot=made, cycles=3, include_pod_group_statuses=True)
    engine = SimulationEngine(default_profile())
    cycles = list(SimulateResponse.FromString(engine.simulate(request)).cycles)
    assert [evicted(each) for each in cycles] == [8, 0, 0]
    assert not_in_force(cycles[0])
    assert not not_in_force(cycles[1]), "without pods on nodes, nothing was given"
    assert stored(cycles[1], "own") is not None
    (waits,) = (each for each in cycles[2].outcomes if each.pod_group == "runs")
    assert waits.reason.code == REASON_CODE_NON_PREEMPTIBLE_OVER_QUOTA


CHANGES: Final[dict[str, Callable[[pb.ClusterSnapshot], None]]] = {
    "a wish": lambda made: setattr(made.pod_groups[0], "preemptibility", pb.PREEMPTIBILITY_NON_PREEMPTIBLE),
    "a larger minimum": lambda made: setattr(made.pod_groups[0], "min_member", 8),
    "a quota that covers it": lambda made: setattr(made.queues[1].gpu_milli, "quota", 8000),
    "its last pod ends": lambda made: made.pods.__delitem__(slice(0, 8)),
}


def test_pushed_state_follows_grants_like_a_snapshot_r8_41() -> None:
    """Changes one after the other, as deltas: each decision is that on the whole snapshot."""
    made = snapshot({"preemptibility": SOFT})
    request = DecideRequest(include_pod_group_statuses=True)
    with run_server() as (_, address), Client(address) as client, StateSession(client) as session:
        session.push(made)
        for name, change in CHANGES.items():
            change(made)
            made.version += 1
            session.update(made)
            request.snapshot.CopyFrom(made)
            assert session.decide().groups == Engine(default_profile()).decide(request).parse().groups, name
