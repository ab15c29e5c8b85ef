"""The figures of many seeds by action, and the limits that they are to keep.

The fewest pods and the fewest GPUs are mostly those of different sets. Pods come first (R14.8), so the gap in
GPUs is that to the sets with the fewest pods, of those the fewest GPUs. The fewest GPUs of all are shown.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from tests.properties.optimum.case import Case, Figures

CAPTURED: Final = 0.97
"""Least part of the gap between victims in order and the optimum that the choice of victims closes."""
DOMINATED: Final = 0.005
MEDIAN: Final = 1.0
P99: Final = 1.5


class Summary(NamedTuple):
    """Figures of the decisions of one action. A gap is the difference to the optimum."""

    clusters: int
    decisions: int
    pods: int
    fewest_pods: int
    gpus: int
    fewest_gpus: int
    gpus_of_fewest_pods: int
    pods_in_order: int
    pods_gap_in_order: int
    gpus_in_order: int
    gpus_gap_in_order: int
    """To the sets with the fewest pods."""
    captured_pods: float
    captured_gpus: float
    more_pods: int
    """Decisions with more pods than the optimum."""
    more_gpus: int
    dominated: int
    ratio_median: float
    """Of pods to the optimum, over the decisions."""
    ratio_p90: float
    ratio_p99: float
    ratio_max: float
    refuted: int
    missed: int
    """Gangs that do not start, although a certified set exists."""
    lost: int
    """Gangs that start with the first victims in order, and only with those."""
    remarks: dict[str, int]


class Limit(NamedTuple):
    """One limit, and what each action has."""

    name: str
    required: str
    values: dict[str, str]
    passed: bool


def summary(cases: Iterable[Case]) -> Summary:
    """Sums over cases of one action."""
    cases = list(cases)
    now = [case.now for case in cases if case.now is not None]
    both = [(case.now, case.first) for case in cases if case.now is not None and case.first is not None]
    ratios = sorted(each.pods / each.fewest_pods for each in now)
    pods_gap = sum(first.pods - first.fewest_pods for _, first in both)
    gpus_gap = sum(first.gpus - first.gpus_of_fewest_pods for _, first in both)
    return Summary(
        clusters=len(cases),
        decisions=len(now),
        pods=sum(each.pods for each in now),
        fewest_pods=sum(each.fewest_pods for each in now),
        gpus=sum(each.gpus for each in now),
        fewest_gpus=sum(each.fewest_gpus for each in now),
        gpus_of_fewest_pods=sum(each.gpus_of_fewest_pods for each in now),
        pods_in_order=sum(first.pods for _, first in both),
        pods_gap_in_order=pods_gap,
        gpus_in_order=sum(first.gpus for _, first in both),
        gpus_gap_in_order=gpus_gap,
        captured_pods=_closed(sum(each.pods - each.fewest_pods for each, _ in both), pods_gap),
        captured_gpus=_closed(sum(each.gpus - each.gpus_of_fewest_pods for each, _ in both), gpus_gap),
        more_pods=sum(each.pods > each.fewest_pods for each in now),
        more_gpus=sum(each.gpus > each.fewest_gpus for each in now),
        dominated=sum(each.dominated for each in now),
        ratio_median=quantile(ratios, 0.5),
        ratio_p90=quantile(ratios, 0.9),
        ratio_p99=quantile(ratios, 0.99),
        ratio_max=quantile(ratios, 1),
        refuted=sum(bool(each.refuted) for each in now),
        missed=sum(case.is_missed for case in cases),
        lost=sum(case.first is not None and case.now is None for case in cases),
        remarks=_remarks(now),
    )


def limits(found: dict[str, Summary]) -> list[Limit]:
    """Each limit, which all actions must keep."""

    def limit(
        name: str, required: str, show: Callable[[Summary], str], keeps: Callable[[Summary], bool]
    ) -> Limit:
        values = {action: show(each) for action, each in found.items()}
        return Limit(name, required, values, all(keeps(each) for each in found.values()))

    return [
        limit(
            "gap in pods captured",
            f"at least {CAPTURED:.0%}",
            lambda each: f"{each.captured_pods:.1%}",
            lambda each: each.captured_pods >= CAPTURED,
        ),
        limit(
            "gap in GPUs captured",
            f"at least {CAPTURED:.0%}",
            lambda each: f"{each.captured_gpus:.1%}",
            lambda each: each.captured_gpus >= CAPTURED,
        ),
        limit(
            "dominated sets",
            f"at most {DOMINATED:.1%}",
            lambda each: f"{_part(each.dominated, each.decisions):.1%}",
            lambda each: each.dominated <= DOMINATED * each.decisions,
        ),
        limit(
            "pods to optimum, median",
            f"{MEDIAN:g}",
            lambda each: f"{each.ratio_median:.2f}",
            lambda each: each.ratio_median <= MEDIAN,
        ),
        limit(
            "pods to optimum, p99",
            f"at most {P99:g}",
            lambda each: f"{each.ratio_p99:.2f}",
            lambda each: each.ratio_p99 <= P99,
        ),
        limit("claims that are refuted", "0", lambda each: str(each.refuted), lambda each: each.refuted == 0),
    ]


def _part(amount: int, whole: int) -> float:
    """The part of a whole; all of it where there is none."""
    return amount / whole if whole else 1.0


def _closed(left: int, gap: int) -> float:
    """The part of a gap that is closed. Both ways to choose have an optimum of their own scope of victims."""
    return 1 - left / gap if gap else 1.0


def quantile(ordered: Sequence[float], part: float) -> float:
    """The nearest rank; not a number if there are none."""
    return math.nan if not ordered else ordered[max(0, math.ceil(part * len(ordered)) - 1)]


def _remarks(now: Sequence[Figures]) -> dict[str, int]:
    return dict(sorted(Counter(remark for each in now for remark in each.remarks).items()))
