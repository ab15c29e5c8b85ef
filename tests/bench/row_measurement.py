"""Measures one way of one case: calls to a server of its own, or decisions in a process of its own.

What a process measures depends on the memory that its earlier cases left: a decision takes up to twice as
long after larger ones.
"""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from tests.bench.call_measurement import measure_calls
from tests.bench.churn import measure_churn
from tests.bench.decide_measurement import measure_decide
from tests.bench.play_measurement import PlayedCase, measure_play
from tests.bench.sample import Sample
from tests.bench.starts_measurement import measure_starts
from tests.bench.workloads.case import CallMode, Case
from tests.bench.workloads.catalog import all_cases

PLAYED_RUNS: Final = 3
"""Most runs of a whole trace, which take from seconds to minutes."""
_IN_PROCESS: Final = (CallMode.DECIDE, CallMode.STARTS, CallMode.PLAY)
"""Ways without a server."""


def measure_row(case: Case, way: CallMode, runs: int) -> Sample:
    """Measure this many runs. Raises UnexpectedCounts."""
    if way in _IN_PROCESS:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
            return alone.submit(_measure_here, case.name, way, runs).result()
    return measure_churn(case, runs) if way is CallMode.CHURN else measure_calls(case, way, runs)


def _measure_here(name: str, way: CallMode, runs: int) -> Sample:
    case = next(case for case in all_cases() if case.name == name)
    if isinstance(case, PlayedCase):
        return measure_play(case, min(runs, PLAYED_RUNS))
    return measure_starts(case, runs) if way is CallMode.STARTS else measure_decide(case, runs)
