"""The check `placement-exam`: how much of the GPUs is in use at the end, beside the published means."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from enum import StrEnum
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import Annotated, Final, NamedTuple

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import default_profile

from tests.checks import CannotRun, Counts
from tests.placement_exam.arrivals import arrivals
from tests.placement_exam.play import free_nodes, play
from tests.placement_exam.published_means import FGD
from tests.placement_exam.reference_value import target_mix, value
from tests.placement_exam.trace_lists import read_exam_nodes, read_exam_pods

CHECKOUT: Final = Path(__file__).parents[2]
DEFAULT_FOLDER: Final = Path("../shared/traces/openb")
"""Relative to the checkout."""
FIRST_SEED: Final = 42
BETTER: Final = 0.3
"""Points above the published means that are required, on average over the lists."""
WORSE: Final = 0.1
"""Points below the published mean of a list that are permitted."""
PLACING: Final = ("nodeplacement", "gpusharingorder", "fragmentation")


class Policy(StrEnum):
    """What chooses nodes."""

    FRAGMENTATION = "fragmentation"
    NODEPLACEMENT = "nodeplacement"
    OFF = "off"

    @property
    def profile(self) -> Profile:
        """The default profile with this policy. Off: nodes by name, and shared GPUs first."""
        plugins = {
            Policy.FRAGMENTATION: ("fragmentation",),
            Policy.NODEPLACEMENT: ("gpusharingorder", "nodeplacement"),
            Policy.OFF: ("gpusharingorder",),
        }[self]
        default = default_profile()
        others = [each for each in default.plugins if each.name not in PLACING]
        return replace(default, plugins=(*others, *map(PluginConfig, plugins)))


class Result(NamedTuple):
    """One play, in percent and seconds."""

    allocated: float
    fragmentation: float
    """Part of the free GPUs that the mix of the list cannot use."""
    seconds: float


def main(
    folder: Annotated[Path | None, typer.Option(help=f"Folder of the lists [{DEFAULT_FOLDER}]")] = None,
    lists: Annotated[list[str] | None, typer.Option(help="Only this list; repeat for more")] = None,
    seeds: Annotated[int, typer.Option(min=1, max=10, help="Number of seeds, from 42")] = 3,
    policy: Annotated[Policy, typer.Option(help="What chooses nodes")] = Policy.FRAGMENTATION,
    processes: Annotated[int, typer.Option("-j", min=1, help="Processes")] = os.cpu_count() or 1,
) -> Counts:
    """Play the public exam of placement: pods that ask for 130 % of a cluster arrive, and nothing ends.

    A list passes if its mean is at most 0.1 points below the published mean of FGD. One more case is the mean
    over all lists: it passes if it is at least 0.3 points above.
    """
    names = lists or list(FGD)
    if unknown := sorted(set(names) - set(FGD)):
        raise CannotRun(f"unknown list {unknown[0]}; known: {', '.join(FGD)}")
    source = (CHECKOUT / DEFAULT_FOLDER).resolve() if folder is None else folder
    plays = [(source, name, FIRST_SEED + number, policy) for name, number in product(names, range(seeds))]
    console = Console(stderr=True)
    results = list(
        track(
            _play_all(plays, processes),
            "playing exams",
            total=len(plays),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
    )
    by_list = {name: results[i * seeds : (i + 1) * seeds] for i, name in enumerate(names)}
    Console(highlight=False).print(_table(by_list))
    gains = [_gain(name, by_list[name]) for name in names]
    print(f"{policy}: {fmean(gains):+.2f} points on average against FGD")
    passed = sum(gain >= -WORSE for gain in gains) + (fmean(gains) >= BETTER)
    return Counts(passed, len(gains) + 1 - passed)


def _play_all(plays: Sequence[tuple[Path, str, int, Policy]], processes: int) -> Iterator[Result]:
    if processes == 1:
        yield from map(_play, plays)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_play, plays)


def _play(one: tuple[Path, str, int, Policy]) -> Result:
    folder, name, seed, policy = one
    pods = read_exam_pods(folder, name)
    arrived = arrivals(read_exam_nodes(folder), pods, seed)
    played = play(arrived, policy.profile)
    nodes, mix = free_nodes(arrived, played.places), target_mix(pods)
    unusable = sum([value(node, mix) for node in nodes])
    free = sum([sum(node.devices) for node in nodes])
    return Result(played.allocated, 100 * float(unusable / free), played.seconds)


def _gain(name: str, results: Sequence[Result]) -> float:
    return fmean([result.allocated for result in results]) - FGD[name]


def _table(by_list: dict[str, list[Result]]) -> Table:
    columns = ("list", "FGD", "allocated", "difference", "lowest", "highest", "fragmentation", "CPU s")
    table = Table(*columns, box=None, pad_edge=False)
    for name, results in by_list.items():
        allocated = [result.allocated for result in results]
        table.add_row(
            name,
            f"{FGD[name]:.2f}",
            f"{fmean(allocated):.2f}",
            f"{_gain(name, results):+.2f}",
            f"{min(allocated):.2f}",
            f"{max(allocated):.2f}",
            f"{fmean([result.fragmentation for result in results]):.1f} %",
            f"{fmean([result.seconds for result in results]):.2f}",
        )
    return table
