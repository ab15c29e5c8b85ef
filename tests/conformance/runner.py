"""Runs one case, or many cases in several processes."""

import multiprocessing
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from tenure.codec.engine import Engine
from tenure.solver.plugin_api.profile import SPEEDUPS
from tenure.solver.search.search import NEVER

from tests.conformance.cases import Case
from tests.conformance.comparison.matcher import find_differences
from tests.conformance.conversion.profile import to_profile
from tests.conformance.results import CaseResult, CaseVerdict
from tests.conformance.rounds import run_sessions
from tests.conformance.time_limit import time_limit
from tests.conformance.unit_cases.unit_cases import unit_differences
from tests.conformance.unit_cases.values import Unmapped


def run_case(case: Case, speedups: tuple[str, ...] = SPEEDUPS, fill_back: str = NEVER) -> CaseResult:
    """Run one case and return its verdict. An exception fails the case; the details name the exception."""
    try:
        is_cycle = case.kind == "scheduling"
        found = _scheduling_differences(case, speedups, fill_back) if is_cycle else unit_differences(case)
    except Unmapped as error:
        return CaseResult.of(case, CaseVerdict.UNMAPPED, error.args)
    except Exception as error:
        found = [_crash(error)]
    return CaseResult.of(case, CaseVerdict.FAILED if found else CaseVerdict.PASSED, found)


def run_all(
    cases: Sequence[Case], processes: int, speedups: tuple[str, ...] = SPEEDUPS, fill_back: str = NEVER
) -> Iterator[CaseResult]:
    """Run all cases and yield their verdicts, in the order of the cases."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        yield from pool.map(partial(_run_limited, speedups, fill_back), cases, chunksize=4)


def _run_limited(speedups: tuple[str, ...], fill_back: str, case: Case) -> CaseResult:
    with time_limit():
        return run_case(case, speedups, fill_back)


def _scheduling_differences(case: Case, speedups: tuple[str, ...], fill_back: str) -> list[str]:
    engine = Engine(to_profile(case.data, speedups, fill_back))
    return [
        found
        for scene in run_sessions(case.data, lambda request: engine.decide(request).parse())
        for found in find_differences(case.data, scene)
    ]


def _crash(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno}"
    return f"{type(error).__name__} at {place}: {'; '.join(str(error).splitlines())}"
