"""The check `optimum`: how far sets of victims are from a proven optimum, on random clusters.

What is compared shares no code with the search: `cluster_facts` reads the rules from the snapshot,
`least_victims` proves the least legal set, and a set counts only if the product itself takes it
(`judged_choice`). The gap of victims in order is that of the option `victimChoice: inOrder`; a version
without it has no other way to choose, and captures nothing.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing import Pool
from typing import Annotated, Final, TypeVar

import typer
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table
from tenure.process.options import Output

from tests.checks import Counts
from tests.properties.checks.many_seeds import PROCESSES
from tests.properties.optimum.case import Case, case_of
from tests.properties.optimum.consolidations import moves_limits, moves_of, moves_summary, moves_table
from tests.properties.optimum.gang_snapshots import ACTIONS
from tests.properties.optimum.limits import Limit, Summary, limits, summary
from tests.properties.optimum.shown_seed import write_moves, write_seed
from tests.tools.tool import ROOT

T = TypeVar("T")
BATCH: Final = 10
WIDTH: Final = 100
FOLDER: Final = ROOT / ".cache/optimum"


def main(
    count: Annotated[int, typer.Argument(min=1, help="Number of clusters")] = 1_000,
    first: Annotated[int, typer.Option(help="Seed of the first cluster; the next has the next one")] = 0,
    output: Annotated[Output, typer.Option(help="Output format")] = Output.TABLE,
    show: Annotated[
        int | None, typer.Option(help="Write the snapshot of this seed and its sets of victims, no more")
    ] = None,
    any_surplus: Annotated[
        bool,
        typer.Option("--any-surplus", help="Let any pods beyond a minimum leave, not the last"),
    ] = False,
    consolidation: Annotated[
        bool, typer.Option("--consolidation", help="Compare moves of consolidations instead")
    ] = False,
) -> Counts | None:
    """Compare sets of victims with proven optima: pods, GPUs, dominated sets, refuted claims."""
    seeds = range(first, first + count)
    if consolidation:
        return _compare_moves(seeds, output)
    if show is not None:
        print(write_moves(show, FOLDER) if consolidation else write_seed(show, FOLDER, not any_surplus))
        return None
    cases = cases_of(seeds, not any_surplus)
    found = {action: summary(case for case in cases if case.action == action) for action in ACTIONS}
    judged = limits(found)
    if output is Output.JSON:
        print(json.dumps(_document(cases, found, judged), indent=2))
    else:
        _print(cases, found, judged)
    return Counts(sum(limit.passed for limit in judged), sum(not limit.passed for limit in judged))


def _compare_moves(seeds: Sequence[int], output: Output) -> Counts:
    moves = [each for each in _each(moves_of, seeds) if each is not None]
    found = moves_summary(len(seeds), moves)
    judged = moves_limits(found)
    if output is Output.JSON:
        rows = [each._asdict() for each in moves]
        print(json.dumps({"figures": found._asdict(), "limits": judged, "seeds": rows}, indent=2))
    else:
        console = Console(width=WIDTH)
        console.print(moves_table(found))
        for limit, holds in judged.items():
            console.print(f"{limit}: {'passed' if holds else 'failed'}", highlight=False)
    return Counts(sum(judged.values()), sum(not holds for holds in judged.values()))


def cases_of(seeds: Sequence[int], in_order: bool = True) -> list[Case]:
    """The cases of seeds, in their order."""
    return _each(partial(case_of, in_order=in_order), seeds)


def _each(judge: Callable[[int], T], seeds: Sequence[int]) -> list[T]:
    """What is found for each seed, in their order."""
    with Pool(PROCESSES) as pool:
        results = pool.imap(judge, seeds, BATCH)
        progress = track(results, "comparing", total=len(seeds), console=Console(stderr=True))
        return list(progress)


def _document(cases: list[Case], found: dict[str, Summary], judged: list[Limit]) -> dict[str, object]:
    return {
        "figures": {action: each._asdict() for action, each in found.items()},
        "limits": [limit._asdict() for limit in judged],
        "dominated_seeds": [case.seed for case in cases if case.now is not None and case.now.dominated],
        "refuted_seeds": {case.seed: case.now.refuted for case in cases if case.now and case.now.refuted},
        "missed_seeds": [case.seed for case in cases if case.is_missed],
        "seeds_with_more_pods": [
            case.seed for case in cases if case.now is not None and case.now.pods > case.now.fewest_pods
        ],
    }


def _print(cases: list[Case], found: dict[str, Summary], judged: list[Limit]) -> None:
    console = Console(width=WIDTH)
    figures = Table("", *found, box=box.SIMPLE, title="figures", title_justify="left")
    for name, values in _rows(found):
        figures.add_row(name, *values)
    console.print(figures)
    table = Table("limit", "required", *found, "", box=box.SIMPLE, title="limits", title_justify="left")
    for limit in judged:
        verdict = "passed" if limit.passed else "failed"
        table.add_row(limit.name, limit.required, *limit.values.values(), verdict)
    console.print(table)
    for case in cases:
        if case.now is not None and case.now.refuted:
            console.print(f"seed {case.seed}, {case.action}: proven is refuted: {case.now.refuted}")


def _rows(found: dict[str, Summary]) -> list[tuple[str, list[str]]]:
    each = list(found.values())
    rows = [
        ("clusters", [f"{one.clusters:,}" for one in each]),
        ("starts with victims", [f"{one.decisions:,}" for one in each]),
        ("pods disrupted", [f"{one.pods:,}" for one in each]),
        ("  at the optimum", [f"{one.fewest_pods:,}" for one in each]),
        ("  more than needed in", [_share(one.more_pods, one.decisions) for one in each]),
        ("  in order, and its gap", [f"{one.pods_in_order:,}, {one.pods_gap_in_order:,}" for one in each]),
        ("GPUs disrupted", [f"{one.gpus:,}" for one in each]),
        ("  with the fewest pods", [f"{one.gpus_of_fewest_pods:,}" for one in each]),
        ("  at the optimum of GPUs alone", [f"{one.fewest_gpus:,}" for one in each]),
        ("  more than that in", [_share(one.more_gpus, one.decisions) for one in each]),
        ("  in order, and its gap", [f"{one.gpus_in_order:,}, {one.gpus_gap_in_order:,}" for one in each]),
        ("dominated sets", [_share(one.dominated, one.decisions) for one in each]),
        (
            "pods to optimum: median, p90, p99, max",
            [
                f"{one.ratio_median:.2f}, {one.ratio_p90:.2f}, {one.ratio_p99:.2f}, {one.ratio_max:.2f}"
                for one in each
            ],
        ),
        ("claims that are refuted", [str(one.refuted) for one in each]),
        ("no start, though a certified set exists", [str(one.missed) for one in each]),
        ("no start, other than in order", [str(one.lost) for one in each]),
    ]
    remarks = sorted({remark for one in each for remark in one.remarks})
    return rows + [(remark, [str(one.remarks.get(remark, 0)) for one in each]) for remark in remarks]


def _share(number: int, of: int) -> str:
    return f"{number:,} ({number / of:.1%})" if of else "0"
