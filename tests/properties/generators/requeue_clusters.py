"""Random clusters with pod groups past their expected runtime and one contender of higher priority.

A case is data, so that it can be built with other names and creation times of its queues, and judged without
the solver. Only GPUs are scarce.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.testing import ClusterBuilder

from tests.properties.generators.draw import Draw

CONTENDER = "contender"
PRIORITY = 50


class Running(NamedTuple):
    """A running pod group: GPUs of each pod, its nodes by pod, and whether it may be requeued."""

    name: str
    queue: int
    gpus: int
    nodes: tuple[int, ...]
    min_member: int
    priority: int
    overrun_minutes: int
    """0: it has no expected runtime and is not preemptible."""


class RequeueCase(NamedTuple):
    """GPUs of the nodes, quotas of the queues (-1: unlimited), running pod groups, and the contender."""

    nodes: tuple[int, ...]
    quotas: tuple[int, ...]
    running: tuple[Running, ...]
    queue: int
    pods: int
    gpus: int
    delay_minutes: int
    """Requeue delay of all pod groups."""

    def build(self, names: Sequence[str] = "", ages: Sequence[int] = ()) -> Cluster:
        """The cluster, with names of the queues, and their ages in days. Default: alphabetically."""
        names, ages = names or "abcdef"[: len(self.quotas)], ages or range(len(self.quotas))
        builder = ClusterBuilder()
        for number, gpus in enumerate(self.nodes):
            builder.node(f"n{number}", gpus=gpus)
        for name, age, quota in zip(names, ages, self.quotas, strict=True):
            builder.queue(name, quota=quota, created_ago=f"{age + 1}d")
        for group in self.running:
            builder.pod_group(
                group.name,
                queue=names[group.queue],
                priority=group.priority,
                min_member=group.min_member,
                started_ago="10h",
                requeue_delay=f"{self.delay_minutes}m",
                **(
                    {"expected_runtime": f"{600 - group.overrun_minutes}m"}
                    if group.overrun_minutes
                    else {"preemptibility": Preemptibility.NON_PREEMPTIBLE}
                ),
            )
            for node in group.nodes:
                builder.running(group.name, gpus=group.gpus, node=f"n{node}")
        builder.pending(
            CONTENDER, queue=names[self.queue], gpus=self.gpus, count=self.pods, priority=PRIORITY
        )
        return builder.build()


def requeue_case(draw: Draw, *, quotas: bool) -> RequeueCase:
    """One to three nodes that are nearly full, two or three queues, up to seven running pod groups."""
    free = [draw.integer(1, 4) for _ in range(draw.integer(1, 3))]
    nodes = tuple(free)
    queues = draw.integer(2, 3)
    running: list[Running] = []
    for number in range(draw.integer(1, 7)):
        gpus = draw.choice((1, 1, 1, 2))
        places: list[int] = []
        for _ in range(draw.choice((1, 1, 2))):
            fitting = [node for node, left in enumerate(free) if left >= gpus]
            if fitting:
                places.append(draw.choice(fitting))
                free[places[-1]] -= gpus
        if places:
            running.append(
                Running(
                    f"job{number}",
                    draw.integer(0, queues - 1),
                    gpus,
                    tuple(places),
                    draw.integer(1, len(places)),
                    draw.choice((30, 40, 40)),
                    0 if draw.chance(15) else draw.choice((5, 30, 300)),
                )
            )
    for number, left in enumerate(free):
        if left and draw.chance(70):
            running.append(Running(f"rest{number}", 0, left, (number,), 1, 40, 0))
    return RequeueCase(
        nodes,
        tuple(draw.choice((0, 1, 2, 4)) if quotas else -1 for _ in range(queues)),
        tuple(running),
        draw.integer(0, queues - 1),
        draw.choice((1, 1, 2)),
        draw.choice((1, 2, 2, 3, 4)),
        draw.choice((0, 0, 10)),
    )
