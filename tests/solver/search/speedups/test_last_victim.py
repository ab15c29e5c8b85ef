"""A preemptor finds no place after victims that take all of their capacity again."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.framework.statement import Statement
from tenure.solver.model.resources import WHOLE_GPU
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.registry import default_profile
from tenure.solver.search.scenario_simulator import ScenarioSimulator
from tenure.solver.search.search import BlockedBy
from tenure.solver.search.search_components import SearchComponents
from tenure.solver.search.speedups.returning_victims import LastVictim
from tenure.solver.testing import ClusterBuilder

from tests.solver.sessions import open_session

GPUS = 8
GANG: Mapping[int, tuple[int, ...]] = {0: (2, 2), 1: (2,)}
"""GPUs of pods, by node."""

# gang, GPUs that stay free, whether some of its pods suffice, whether node 0 was closed -> whether it blocks
VICTIMS = {
    "a whole gang of equal pods": (GANG, 0, False, False, True),
    "one GPU is free, two are needed": (GANG, 1, False, False, True),
    "two GPUs are free": (GANG, 2, False, False, False),
    "pods of two sizes may take turns that leave some out": ({0: (2, 1), 1: (2,)}, 0, False, False, False),
    "a part of the gang may stay out": (GANG, 0, True, False, False),
    "a pod may not return to its node": (GANG, 0, False, True, False),
}


@pytest.mark.parametrize(
    ("pods", "free", "is_elastic", "is_closed", "expected"), VICTIMS.values(), ids=VICTIMS.keys()
)
def test_a_victim_that_certainly_returns_blocks_the_preemptor(
    pods: Mapping[int, tuple[int, ...]], free: int, is_elastic: bool, is_closed: bool, expected: bool
) -> None:
    builder = ClusterBuilder().queue("q")
    builder.node("n0", gpus=sum(pods[0]), unready="Cordoned" if is_closed else "")
    builder.node("n1", gpus=sum(pods[1]) + free)
    count = sum(map(len, pods.values()))
    builder.pod_group("gang", queue="q", min_member=1 if is_elastic else count)
    for node, sizes in pods.items():
        for gpus in sizes:
            builder.running("gang", gpus=gpus, node=f"n{node}")
    session = open_session(builder.pending("asks", queue="q", gpus=2).build())
    preemptor, victim = session.cluster.pod_groups  # by name
    statement = session.statement()
    for task in victim.tasks:
        statement.evict(task)
    scenario = Scenario(
        preemptor.index, tuple(preemptor.tasks), (), (Batch(victim.index, tuple(victim.tasks)),)
    )
    judged = LastVictim(session, SearchComponents(session), free * WHOLE_GPU)
    assert judged.blocks(scenario, victim.index) is expected


def random_departments(seed: int) -> ClusterBuilder:
    """Three departments with gangs over nearly full nodes, some of them elastic or with pods of two sizes."""
    draw, builder, leaves = Random(seed), ClusterBuilder(), list[str]()
    for department in ("one", "two", "three"):
        builder.queue(department, quota=draw.choice((4, 8, 16)))
        for number in range(draw.randint(1, 3)):
            leaves.append(f"{department}-{number}")
            builder.queue(leaves[-1], parent=department, quota=draw.choice((0, 2, 8)))
    free = {f"n{node}": GPUS - draw.choice((0, 0, 0, 0, 1)) for node in range(draw.randint(3, 6))}
    for node in free:
        builder.node(node, gpus=GPUS)
    job = 0
    while any(free.values()):
        job += 1
        name, places, count = f"job-{job}", list[tuple[str, int]](), draw.randint(1, 5)
        size, is_mixed = draw.choice((1, 1, 2)), draw.random() < 0.1
        for node in free:
            while len(places) < count and free[node] >= size:
                free[node] -= size
                places.append((node, size))
                size = draw.choice((1, 2)) if is_mixed else size
        least = 1 if draw.random() < 0.2 else len(places)
        if places:
            builder.pod_group(name, queue=draw.choice(leaves), min_member=least)
        for node, gpus in places:
            builder.running(name, gpus=gpus, node=node)
    for number in range(draw.randint(2, 8)):
        gpus, count = draw.choice((1, 2, 2)), draw.choice((1, 1, 2))
        builder.pending(f"asks-{number}", queue=draw.choice(leaves), gpus=gpus, count=count)
    return builder


@pytest.mark.interpreted
def test_simulations_of_random_clusters_fail_where_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    said, wrong = list[int](), 0
    simulate = ScenarioSimulator.run

    def run(
        simulator: ScenarioSimulator,
        statement: Statement,
        scenario: Scenario,
        nodes: int,
        is_blocked_by: BlockedBy | None = None,
        *,
        preemptor_first: bool = False,
    ) -> bool:
        nonlocal wrong

        def listen(scenario: Scenario, last: int) -> bool:
            if is_blocked_by is not None and is_blocked_by(scenario, last):
                said.append(len(scenario.victims()))
            return False

        before = len(said)
        is_placed = simulate(simulator, statement, scenario, nodes, listen, preemptor_first=preemptor_first)
        wrong += is_placed and len(said) > before
        return is_placed

    monkeypatch.setattr(ScenarioSimulator, "run", run)
    profile = replace(default_profile(), actions=("reclaim",))
    for seed in range(90):
        answer(random_departments(seed).build(), profile)
    assert wrong == 0
    assert max(said) > 1
    assert len(said) > 15
