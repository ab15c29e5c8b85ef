"""The queues that the importer creates for the openb trace."""

import pytest
from tenure.cli.importers.openb_csv import TracePod
from tenure.cli.importers.openb_objects import NON_PREEMPTIBLE, TEAMS, queue_tree, team_of


def pod(number: int, qos: str = "BE", gpus: int = 1) -> TracePod:
    fields = {"cpu_milli": 1000, "memory_mib": 1024, "num_gpu": gpus, "gpu_milli": 1000, "gpu_spec": ""}
    times = {"creation_time": number, "scheduled_time": ""}
    return TracePod.model_validate({"name": f"pod-{number}", "qos": qos, **fields, **times})


MIXED = [
    pod(i, qos, gpus=1 + i % 2)
    for i in range(400)
    for qos in [("LS", "BE", "Burstable", "Guaranteed")[i % 4]]
]


def test_team_of_a_pod_does_not_depend_on_the_rest_of_the_trace() -> None:
    assert [team_of(pod(i)).name for i in range(5)] == [team_of(pod(i)).name for i in range(5)]
    assert team_of(pod(0, "BE")).department != team_of(pod(0, "LS")).department


def test_every_team_has_pods_of_high_and_low_priority() -> None:
    kinds = {(team_of(p).name, p.qos in NON_PREEMPTIBLE) for p in MIXED}
    assert kinds == {(team.name, high) for team in TEAMS for high in (False, True)}


def test_quota_covers_all_non_preemptible_demand_of_a_team() -> None:
    quotas = {queue.name: queue.gpu_milli.quota for queue in queue_tree(MIXED)}
    for team in TEAMS:
        mine = [p for p in MIXED if team_of(p) is team]
        assert quotas[team.name] >= sum(p.gpu_demand_milli for p in mine if p.qos in NON_PREEMPTIBLE)


def test_some_teams_demand_more_than_their_quota_and_some_less() -> None:
    quotas = {queue.name: queue.gpu_milli.quota for queue in queue_tree(MIXED)}
    demand = {team.name: sum(p.gpu_demand_milli for p in MIXED if team_of(p) is team) for team in TEAMS}
    over = {name for name in demand if demand[name] > quotas[name]}
    assert over == {"online-ads", "research-vision", "research-language"}


def test_quota_of_a_department_is_the_sum_of_its_teams() -> None:
    queues = queue_tree(MIXED)
    for department in (queue for queue in queues if not queue.parent):
        teams = [queue for queue in queues if queue.parent == department.name]
        assert department.gpu_milli.quota == sum(team.gpu_milli.quota for team in teams)


@pytest.mark.parametrize("share", [1, 460, 999])
def test_quotas_are_whole_gpus(share: int) -> None:
    queues = queue_tree([pod(1).model_copy(update={"gpu_milli": share})])
    assert all(queue.gpu_milli.quota % 1000 == 0 for queue in queues)
