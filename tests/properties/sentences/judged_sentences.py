"""The check `sentences`: every sentence of explanations on random clusters, applied to the cluster.

What judges them shares nothing with the explanation code: it changes the cluster, decides and plays on, and
counts. A sentence for which the table has no kind fails.
"""

from collections import Counter
from typing import Annotated, Final

import typer

from tests.checks import Counts
from tests.properties.checks.many_seeds import count_all
from tests.properties.sentences.case import Case
from tests.properties.sentences.table import UNKNOWN, all_kinds, kind_of
from tests.properties.sentences.worlds import draw_world

BATCH: Final = 2
_SHOWN: Final = 5
"""Failures of a kind that are printed."""


def judge(seed: int) -> Counter[str]:
    """How often each kind of sentence is true and false on the cluster of a seed; failures by their text."""
    case, found = Case(*draw_world(seed)), Counter[str]()
    for said in case.said():
        known = kind_of(said)
        name, problems = UNKNOWN, [said.text]
        if known is not None:
            name, problems = known[0].name, [*known[0].judge(case, known[1])]
        found[f"{name}|{'failed' if problems else 'passed'}"] += 1
        for problem in problems[:1]:
            found[f"{name}|seed {seed}, {said.question}: {problem}"] += 1
    return found


def report(total: Counter[str]) -> Counts:
    """A line a kind with passed and failed, and the first failures of each."""
    passed = failed = 0
    names = [*[kind.name for kind in all_kinds()], UNKNOWN]
    for name in names:
        right, wrong = total[f"{name}|passed"], total[f"{name}|failed"]
        passed, failed = passed + right, failed + wrong
        print(f"{right:>9,} passed {wrong:>7,} failed  {name}")
        shown = sorted(key for key in total if key.startswith(f"{name}|seed "))
        for text in shown[:_SHOWN]:
            print(f"{'':>28}{text.partition('|')[2]}")
    return Counts(passed, failed)


def main(
    count: Annotated[int, typer.Argument(min=1, help="Number of clusters")] = 10_000,
    first: Annotated[int, typer.Option(help="Seed of the first cluster; the next has the next one")] = 0,
) -> Counts:
    """Judge what explanations say: remedies, protections, times, accounts, reasons, victims, minimality."""
    return report(count_all(judge, range(first, first + count), count, BATCH, "judging sentences"))
