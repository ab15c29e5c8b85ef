"""The check `relations`: decisions for pods with relations, played on in a closed cluster, judged.

Nothing changes from outside: whatever a decision evicts for starts, no reservation is cancelled, no subgroup
is a half, the checker finds nothing, and in the end nothing is evicted any more.
"""

from collections import Counter
from typing import Annotated, Final

import typer
from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1 import decision_pb2
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse

from tests.checker import verify
from tests.checks import Counts
from tests.properties.checks.many_seeds import count_all, report
from tests.properties.generators.draw import SeededDraw
from tests.properties.relations.closed_cluster import ClosedCluster, steps
from tests.properties.relations.related_snapshots import related_snapshot, relations_of

BATCH: Final = 20
CYCLES: Final = 5
LONG: Final = 60
QUIET: Final = 25
"""Cycles at the end of long runs in which nothing is evicted."""
GRACE: Final = 4
"""Cycles in which a beneficiary starts after its decision: its victims take up to two to terminate."""
ENGINE: Final = Engine(default_profile())
CANCELLED: Final = decision_pb2.IN_FLIGHT_GROUP_STATE_CANCELLED


def judge(seed: int, cycles: int = CYCLES) -> Counter[str]:
    """Play the snapshot of a seed; violations are counted by their text."""
    cluster = ClosedCluster(related_snapshot(SeededDraw(seed)))
    found, problems, waiting = Counter({"clusters": 1}), list[str](), dict[str, int]()
    for cycle in range(cycles + GRACE):
        is_judged = cycle < cycles
        response = ENGINE.decide(DecideRequest(snapshot=cluster.snapshot)).parse()
        if is_judged:
            problems += [f"cycle {cycle}: {text}" for text in verify(cluster.snapshot, response)]
            problems += [f"cycle {cycle}: cancelled: {text}" for text in _cancelled(response)]
            _expect(cluster, response, cycle, waiting, found)
        if cycles - QUIET <= cycle < cycles and cycles >= LONG and [*steps(response, "evict")]:
            problems.append(f"cycle {cycle}: evicts")
        cluster.apply(response)
        for pod in cluster.snapshot.pods:
            if pod.node:
                waiting.pop(cluster.origin[pod.uid], None)
        late = [pod for pod, since in waiting.items() if cycle - since >= GRACE]
        problems += [f"cycle {cycle}: {pod} does not start" for pod in late]
        for pod in late:
            del waiting[pod]
        if not is_judged and not waiting:
            break
    found["wrong"] = int(bool(problems))
    found.update(f"seed {seed}: {problem}" for problem in problems)
    return found


def _cancelled(response: DecideResponse) -> list[str]:
    return [
        f"{status.id}: {status.reason.message} {status.reason.detail}"
        for status in response.in_flight_group_statuses
        if status.state == CANCELLED
    ]


def _expect(
    cluster: ClosedCluster, response: DecideResponse, cycle: int, waiting: dict[str, int], found: Counter[str]
) -> None:
    """Note pods that must start: those of beneficiaries, not victims that are placed again."""
    for group in response.groups:
        kinds = [(step.WhichOneof("kind"), step) for step in group.decisions]
        if not any(kind == "evict" for kind, _ in kinds):
            continue
        found["decisions that evict"] += 1
        held = [step.reserve for kind, step in kinds if kind == "reserve"]
        own = [cluster.origin[each.pod] for each in held if each.pod_group == group.beneficiary]
        relations = {name for each in held for name in relations_of(cluster.snapshot, each.pod)}
        found["decisions that evict under a relation"] += bool(relations)
        found.update(f"decisions that evict: {name}" for name in relations)
        for pod in own:
            waiting.setdefault(pod, cycle)


def judge_long(seed: int) -> Counter[str]:
    """Play it for an hour."""
    return judge(seed, LONG)


def main(
    count: Annotated[int, typer.Argument(min=1, help="Number of clusters")] = 20_000,
    first: Annotated[int, typer.Option(help="Seed of the first cluster; the next has the next one")] = 0,
    long: Annotated[bool, typer.Option(help="Play 60 cycles: the last 25 may evict nothing")] = False,
) -> Counts:
    """Judge decisions for pods with relations to each other, in a cluster that nothing else changes."""
    seeds = range(first, first + count)
    return report(count_all(judge_long if long else judge, seeds, count, BATCH, "playing"), count)
