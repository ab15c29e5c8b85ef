"""Runs cases: one, or many over several processes."""

import multiprocessing
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from tenure.server.engine import Engine

from tests.conformance.cases import Case
from tests.conformance.matcher import differences
from tests.conformance.results import Result, Verdict
from tests.conformance.rounds import play
from tests.conformance.time_limit import time_limit
from tests.conformance.to_profile import to_profile
from tests.conformance.unit_cases import unit_differences
from tests.conformance.unit_values import Unmapped


def run_case(case: Case) -> Result:
    """The verdict on one case. Whatever goes wrong inside the solver makes the case fail, with its name."""
    check = _scheduling_differences if case.kind == "scheduling" else unit_differences
    try:
        found = check(case)
    except Unmapped as error:
        return Result.of(case, Verdict.UNMAPPED, error.args)
    except Exception as error:
        found = [_crash(error)]
    return Result.of(case, Verdict.FAILED if found else Verdict.PASSED, found)


def run_all(cases: Sequence[Case], processes: int) -> Iterator[Result]:
    """The verdicts on all cases, in their order, as they come in."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        yield from pool.map(_run_limited, cases, chunksize=4)


def _run_limited(case: Case) -> Result:
    with time_limit():
        return run_case(case)


def _scheduling_differences(case: Case) -> list[str]:
    engine = Engine(to_profile(case.data))
    return [found for scene in play(case.data, engine.decide) for found in differences(case.data, scene)]


def _crash(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno}"
    return f"{type(error).__name__} at {place}: {'; '.join(str(error).splitlines())}"
