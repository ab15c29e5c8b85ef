"""The check `conformance-large`: larger random clusters, and whether each difference has its listed cause."""

import json
import multiprocessing
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from tenure.process.version import is_compiled

from tests.checks import CannotRun, Counts
from tests.conformance.cases import FORMAT, FORMAT_VERSION, Case, UnreadableCases, load_cases, select
from tests.conformance.command import CHECKOUT
from tests.conformance.large.known_differences import (
    EXPLAINED,
    OVER_LIMIT,
    UNEXPLAINED,
    behaviors_of,
    exceeds_limit,
)
from tests.conformance.large.reference_behavior import imitating
from tests.conformance.large.shrinking import shrink, size_of
from tests.conformance.results import CaseVerdict
from tests.conformance.runner import run_case
from tests.conformance.time_limit import time_limit

DEFAULT_CASES: Final = Path("../shared/conformance-large")
"""Relative to the checkout."""


class Verdict(StrEnum):
    """How a case comes out, against the list of known differences."""

    AGREES = "agrees"
    EXPLAINED = "explained"
    """It differs, and agrees once the reference's behavior that it is listed with is imitated; or the
    reference exceeds the limit of a queue.
    """
    UNEXPLAINED = "unexplained"
    """It differs, and is listed without a cause."""
    NEW = "new"
    """It differs, and is not listed, or not by what it is listed with."""
    OUTDATED = "outdated"
    """It is listed, but agrees."""


def main(
    cases: Annotated[Path | None, typer.Option(help=f"Folder of case files [{DEFAULT_CASES}]")] = None,
    id_part: Annotated[str, typer.Option("--id", help="Only cases whose id contains this text")] = "",
    shrunk: Annotated[
        Path | None,
        typer.Option("--shrink", help="Write the explained cases, as small as they go"),
    ] = None,
    find_causes: Annotated[
        bool, typer.Option("--find-causes", help="Try the known causes on cases that are not listed with one")
    ] = False,
    processes: Annotated[int, typer.Option("-j", min=1, help="Processes")] = os.cpu_count() or 1,
) -> Counts:
    """Run larger random clusters, and hold the list of known differences against the results.

    A case passes if it agrees, or if its listed cause holds: it agrees with a behavior of the reference
    imitated, or the reference exceeds a limit in it. With --find-causes, also if a cause that is listed for
    other cases explains it: for cases that nobody has looked at.
    """
    if is_compiled("tenure.solver.cycle"):
        raise CannotRun("no behavior can be imitated in a compiled solver: run it with .venv/bin/python")
    try:
        chosen = select(load_cases(cases or (CHECKOUT / DEFAULT_CASES).resolve()), (), id_part)
    except UnreadableCases as error:
        raise CannotRun(str(error)) from error
    if not chosen:
        raise CannotRun("no case has this id: see --id")
    if shrunk:
        _write_shrunk(chosen, shrunk)
    console = Console(stderr=True)
    results = list(
        track(
            _run_all(chosen, find_causes, processes),
            "running cases",
            total=len(chosen),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
    )
    found: dict[str, Counter[Verdict]] = {}
    for case, verdict in zip(chosen, results, strict=True):
        found.setdefault(_actions(case), Counter())[verdict.kind] += 1
        if verdict.cause or verdict.kind in (Verdict.NEW, Verdict.OUTDATED):
            print(f"{case.id}: {verdict.kind}{verdict.cause}")
    Console(highlight=False).print(_table(found))
    passed = sum(counts[Verdict.AGREES] + counts[Verdict.EXPLAINED] for counts in found.values())
    return Counts(passed, len(chosen) - passed)


def _write_shrunk(cases: Sequence[Case], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for case in cases:
        if behaviors := behaviors_of(case.id):
            smaller = shrink(case.data, behaviors)
            print(f"{case.id}: {size_of(case.data)} parts, {size_of(smaller)} left")
            content = {"format": FORMAT, "format_version": FORMAT_VERSION, "cases": [smaller]}
            name = re.sub(r"\W", "-", case.id)
            (folder / f"{name}.json").write_text(json.dumps(content))


def _actions(case: Case) -> str:
    actions = case.data["run"]["actions"]
    return actions[0] if len(actions) == 1 else "full cycle"


def _run_all(cases: Sequence[Case], find_causes: bool, processes: int) -> Iterator["_CaseResult"]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        yield from pool.map(partial(_judge_and_explain, find_causes), cases, chunksize=4)


class _CaseResult(NamedTuple):
    """The verdict on a case, and the cause that was found for it, as a suffix for its line."""

    kind: Verdict
    cause: str = ""


def _judge_and_explain(find_causes: bool, case: Case) -> _CaseResult:
    verdict = _judge(case)
    if not find_causes or verdict not in (Verdict.NEW, Verdict.UNEXPLAINED):
        return _CaseResult(verdict)
    if exceeds_limit(case.data):
        return _CaseResult(Verdict.EXPLAINED, " by a limit that the reference exceeds")
    for behaviors in sorted(EXPLAINED, key=len):
        with time_limit(), imitating(behaviors):
            if run_case(case, ()).verdict is CaseVerdict.PASSED:
                return _CaseResult(Verdict.EXPLAINED, f" by {', '.join(behaviors)}")
    return _CaseResult(verdict)


def _judge(case: Case) -> Verdict:
    with time_limit():
        differs = run_case(case).verdict is CaseVerdict.FAILED
    behaviors = behaviors_of(case.id)
    if not differs:
        is_listed = behaviors or case.id in (*OVER_LIMIT, *UNEXPLAINED)
        return Verdict.OUTDATED if is_listed else Verdict.AGREES
    if case.id in OVER_LIMIT:
        return Verdict.EXPLAINED if exceeds_limit(case.data) else Verdict.NEW
    if not behaviors:
        return Verdict.UNEXPLAINED if case.id in UNEXPLAINED else Verdict.NEW
    with time_limit(), imitating(behaviors):
        agrees = run_case(case, ()).verdict is CaseVerdict.PASSED
    return Verdict.EXPLAINED if agrees else Verdict.NEW


def _table(found: dict[str, Counter[Verdict]]) -> Table:
    table = Table("actions", "cases", "agree", "explained", "unexplained", "part", box=None, pad_edge=False)
    for name, counts in sorted(found.items()):
        agree, explained = counts[Verdict.AGREES], counts[Verdict.EXPLAINED]
        rest, total = counts.total() - agree - explained, counts.total()
        row = (total, agree, explained, rest)
        table.add_row(name, *map(str, row), f"{(agree + explained) / total:.1%}")
    return table
