"""What evictions cost on the openb trace nearly full, with and without what saves it.

    python -m tests.bench.openb_costs SNAPSHOT [--all-declare]

SNAPSHOT is one of `tenure import openb --running 7600 --pending 300`. Its running pods are preemptible,
started up to two days ago, and make checkpoints every half hour or every four hours. A third of them make
none and say nothing, unless all declare theirs. The pending pods have a higher priority. Lost work is counted
here, from the checkpoints that pods really made.
"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer
from tenure.client.snapshot_file import read_snapshot
from tenure.codec.engine import Engine
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import PREEMPTIBILITY_PREEMPTIBLE, ClusterSnapshot, PodGroup

from tests.properties.generators.draw import SeededDraw

LONGEST_RUN: Final = 48 * 3_600
INTERVALS: Final = (1_800, 14_400)
"""Seconds between checkpoints."""
HOUR: Final = 3_600


def lose_work(group: PodGroup, now: int, draw: SeededDraw, *, declares: bool) -> int:
    """Give a running pod group a start and checkpoints, and return the seconds of work that it would lose."""
    group.priority = 50 if draw.chance(80) else 60
    ran = draw.integer(360, LONGEST_RUN)
    group.last_start_time.seconds = now - ran
    if draw.chance(33) and not declares:
        return ran
    interval = draw.choice(INTERVALS)
    group.checkpoint_interval.seconds = interval
    saved = draw.integer(0, interval)
    if saved >= ran:
        return ran
    group.last_checkpoint_time.seconds = now - saved
    return saved


def prepare(snapshot: ClusterSnapshot, *, declares: bool) -> dict[str, int]:
    """Seconds of work that each running pod group would lose."""
    draw, lost = SeededDraw(1), dict[str, int]()
    running = {pod.pod_group for pod in snapshot.pods if pod.node}
    for group in snapshot.pod_groups:
        group.preemptibility = PREEMPTIBILITY_PREEMPTIBLE
        if group.uid in running:
            lost[group.uid] = lose_work(group, snapshot.now.seconds, draw, declares=declares)
        else:
            group.priority = 90
    return lost


def profiles() -> dict[str, Profile]:
    """The profiles that are compared."""
    default = default_profile()
    priced = replace(default, plugins=(*default.plugins, PluginConfig("evictioncost")))
    wide = replace(default, plugins=(*default.plugins, PluginConfig("evictioncost", {"priorityBand": "100"})))
    return {
        "fillBack: never": replace(default, options=replace(default.options, fill_back="never")),
        "default": default,
        "evictioncost": priced,
        "evictioncost, 4 alternatives": replace(
            priced, options=replace(priced.options, victim_alternatives=4)
        ),
        "evictioncost, priorityBand 100": wide,
    }


def main(
    file: Annotated[Path, typer.Argument(metavar="SNAPSHOT")],
    all_declare: Annotated[bool, typer.Option(help="No pod keeps its checkpoints to itself.")] = False,
) -> None:
    """Decide once with each profile."""
    snapshot = read_snapshot(str(file))
    lost = prepare(snapshot, declares=all_declare)
    shapes = {shape.id: shape.gpu for shape in snapshot.shapes}
    pods = {pod.uid: pod for pod in snapshot.pods}
    print(f"{'':<32}{'started':>9}{'disrupted':>11}{'evicted':>9}{'lost GPU hours':>16}")
    for name, profile in profiles().items():
        response = Engine(profile).decide(DecideRequest(snapshot=snapshot)).parse()
        steps = [step for group in response.groups for step in group.decisions]
        evictions = [step.evict for step in steps if step.HasField("evict")]
        hours = 0.0
        for evict in evictions:
            gpu = shapes[pods[evict.pod].shape]
            hours += gpu.devices * (gpu.portion_milli or 1000) / 1000 * lost[evict.pod_group] / HOUR
        given = sum(step.HasField("reserve") and not pods[step.reserve.pod].node for step in steps)
        given += sum(step.HasField("bind") for step in steps)
        gone = sum(not evict.relocating for evict in evictions)
        print(f"{name:<32}{given:>9}{len(evictions):>11}{gone:>9}{hours:>16.1f}", flush=True)


if __name__ == "__main__":
    typer.run(main)
