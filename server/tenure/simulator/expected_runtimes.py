"""Expected runtimes of a run: those of the trace, the real ones, real ones with an error, or none.

A choice that is not the trace's is a note of the trace, so that tables and pages state it.
"""

import math
from dataclasses import replace
from random import Random
from typing import Final

from tenure.simulator.jobs import Trace, TraceError
from tenure.terms.durations import SECOND
from tenure.terms.formatting import format_count

OF_TRACE: Final = "trace"
EXACT: Final = "exact"
NONE: Final = "none"
FACTOR: Final = "factor:"
_MOST: Final = 1000.0


def with_expected_runtimes(trace: Trace, choice: str, seed: int) -> Trace:
    """The trace with expected runtimes of a choice; `seed` is that of the errors. Raises TraceError.

    With `factor:2`, each is the real runtime times 2 to the power of a standard normal number, so that two
    thirds are wrong by a factor of at most 2.
    """
    if choice == OF_TRACE:
        return trace
    if choice == NONE:
        jobs = [job._replace(expected_runtime=0) for job in trace.jobs]
        return replace(trace, jobs=jobs, notes=(*trace.notes, "Expected runtimes: none."))
    if choice == EXACT:
        jobs = [job._replace(expected_runtime=max(job.runtime, SECOND)) for job in trace.jobs]
        return replace(trace, jobs=jobs, notes=(*trace.notes, "Expected runtimes: the real ones (exact)."))
    factor = _factor(choice)
    jobs = []
    for job in trace.jobs:
        draw = Random(f"{seed}/expected/{job.name}").gauss(0, math.log(factor))  # noqa: S311 no secret
        jobs.append(job._replace(expected_runtime=max(round(job.runtime * math.exp(draw)), SECOND)))
    note = f"Expected runtimes: the real ones, wrong by a factor of {factor:g} (one standard deviation)."
    return replace(trace, jobs=jobs, notes=(*trace.notes, note))


def check_choice(choice: str) -> None:
    """Raise TraceError for a text that is no choice."""
    if choice not in (OF_TRACE, EXACT, NONE):
        _factor(choice)


def _factor(choice: str) -> float:
    try:
        factor = float(choice.removeprefix(FACTOR)) if choice.startswith(FACTOR) else 0.0
    except ValueError:
        factor = 0.0
    if not 1 < factor <= _MOST:
        raise TraceError(
            f"{choice!r} is not a choice of expected runtimes: use {OF_TRACE}, {EXACT}, {NONE}, or "
            f"{FACTOR}NUMBER with a number above 1, up to {_MOST:g}"
        )
    return factor


def missing_text(trace: Trace) -> str:
    """How many jobs have no expected runtime, for people; empty: all have one."""
    missing = sum(not job.expected_runtime for job in trace.jobs)
    jobs = format_count(len(trace.jobs), "job")
    return f"{missing:,} of {jobs} have no expected runtime" if missing else ""
