"""The sum of the fits that victims free equals the fit count of all freed capacity."""

from itertools import combinations

import pytest
from tenure.solver.framework.session import Session
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.search.fits import count_fits
from tenure.solver.search.speedups.freed_fits import FreedFits
from tenure.solver.testing import ClusterBuilder

from tests.solver.sessions import open_session

NODES, BOTH = (0, 1), 0b11


def session(asked: float) -> Session:
    """Five pods on two nodes, two of them on a shared device. A pending pod group needs this many GPUs."""
    builder = ClusterBuilder().node("m", gpus=4, cpus=8).node("n", gpus=2, cpus=8).queue("q")
    builder.running("wide", queue="q", gpus=2, cpus=1, node="m")
    builder.running("hungry", queue="q", gpus=1, cpus=6, node="m")
    builder.running("one", queue="q", gpus=0.5, cpus=1, node="n", gpu_groups=("d",))
    builder.running("other", queue="q", gpus=0.5, cpus=1, node="n", gpu_groups=("d",))
    builder.running("whole", queue="q", gpus=1, cpus=1, node="n")
    builder.pending("asks", queue="q", gpus=asked, cpus=2)
    return open_session(builder.build())


def requested_shape(of: Session) -> TaskShape:
    return next(task.shape for task in of.cluster.tasks if of.ledger.placements[task.index].node not in NODES)


@pytest.mark.parametrize("asked", [1, 2, 0.5])
@pytest.mark.parametrize("count", range(6))
def test_freed_fits_equal_a_count_with_all_victims(asked: float, count: int) -> None:
    opened = session(asked)
    shape, places = requested_shape(opened), opened.ledger.placements
    running = [task.index for task in opened.cluster.tasks if places[task.index].node in NODES]
    before = [count_fits(opened.ledger, shape, node, ()) for node in NODES]
    for victims in combinations(running, count):
        expected = {
            node: count_fits(opened.ledger, shape, node, [v for v in victims if places[v].node == node])
            - before[node]
            for node in NODES
        }
        gains = FreedFits(opened, shape, BOTH, before)
        gains.add(victims[: count // 2])
        assert gains.total_with(victims[count // 2 :]) == sum(expected.values())
        gains.add(victims[count // 2 :])
        assert {node: gains.on(node) for node in NODES} == expected
        assert gains.total() == sum(expected.values())


def test_nodes_excluded_for_the_shape_add_no_fits() -> None:
    opened = session(1)
    shape = requested_shape(opened)
    gains = FreedFits(opened, shape, 0b10, [0, 0])
    everybody = [
        task.index for task in opened.cluster.tasks if opened.ledger.placements[task.index].node == 0
    ]
    assert gains.total_with(everybody) == 0
    gains.add(everybody)
    assert (gains.total(), gains.on(0)) == (0, 0)
