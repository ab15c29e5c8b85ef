"""Order of two sibling queues."""

from typing import Any

import pytest
from tenure.solver.model.facts import QueueFacts
from tenure.solver.plugins.proportion.queue_order import queue_keys
from tenure.solver.resolution.reference_resolution import resolve_queues

TOTAL = (100_000, 100_000, 10_000)
ZERO = (0, 0, 0)


def key(
    gpus: float = 0,
    *,
    fair: float = 4,
    quota: float = 4,
    allocatable: float = 4,
    request: float = 0,
    popped: float = 0,
    priority: int = 100,
    cpu: int = 0,
) -> Any:
    """Sort key of a queue that uses this many GPUs. CPU and memory do not matter."""
    (queue,) = resolve_queues([QueueFacts(name="q", priority=priority, quota=(-1, -1, _milli(quota)))])
    fair_share, most = (1000, 1000, _milli(fair)), (-1, -1, _milli(allocatable))
    (keys,) = queue_keys([queue], [fair_share], [most], TOTAL)
    used, asked, gone = (
        (amount, amount, _milli(gpu)) for amount, gpu in ((cpu, gpus), (0, request), (0, popped))
    )
    return keys.key(used, asked, gone)


def _milli(gpus: float) -> int:
    return -1 if gpus == -1 else round(gpus * 1000)


FIRST_AND_SECOND = {
    "R4.30 over-utilised in everything goes last, whatever its priority": (
        {"gpus": 1, "quota": 0},
        {"gpus": 5, "cpu": 2000, "quota": 9, "priority": 900},
    ),
    "R4.31 within quota with its next pod group": (
        {"gpus": 1, "request": 3},
        {"gpus": 1, "request": 4, "priority": 900},
    ),
    "R4.31 an unlimited quota is never exceeded": (
        {"gpus": 3, "quota": -1, "request": 9},
        {"gpus": 3, "request": 2},
    ),
    "R4.32 then the higher priority, whatever the shares": (
        {"gpus": 3, "priority": 200},
        {"gpus": 0},
    ),
    "R4.33 what has no share goes last": (
        {"gpus": 4, "quota": 0, "request": 1},
        {"gpus": 0, "quota": 0, "allocatable": 0, "request": 0.001},
    ),
    "R4.34 smaller dominant share with the next pod group": (
        {"gpus": 2, "request": 1},
        {"gpus": 0, "request": 4},
    ),
    "R4.34 less what its victims hold": (
        {"gpus": 4, "popped": 3},
        {"gpus": 3, "popped": 1},
    ),
    "R4.34 victims' shares are clipped at nothing, so the present share decides": (
        {"gpus": 1, "popped": 4},
        {"gpus": 2, "popped": 3},
    ),
    "R4.34 smaller dominant share as it is": (
        {"gpus": 1, "request": 2},
        {"gpus": 2, "request": 1},
    ),
    "R4.34 smaller allocatable share at last": (
        {"gpus": 0, "allocatable": 2},
        {"gpus": 0, "allocatable": 4},
    ),
}


@pytest.mark.parametrize(("first", "second"), FIRST_AND_SECOND.values(), ids=FIRST_AND_SECOND)
def test_queue_order(first: dict[str, float], second: dict[str, float]) -> None:
    assert key(**first) < key(**second)
    assert not key(**second) < key(**first)


def test_over_utilised_means_above_the_fair_share_in_all_three_resources_r4_27() -> None:
    above_in_gpus_only = key(gpus=9, cpu=1000)
    assert above_in_gpus_only < key(gpus=9, cpu=1001)


def test_equal_queues_tie_r4_35() -> None:
    assert key(gpus=1) == key(gpus=1)
