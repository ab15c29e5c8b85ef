"""Runs a case of the matrix and reports its result."""

import time
from collections.abc import Mapping
from typing import Final, NamedTuple

from tests.kubernetes.fault_injection.matrix_rows import FaultCase
from tests.kubernetes.fault_injection.rules import find_violations
from tests.kubernetes.fault_injection.run import EndState, StoryRun, StoryTimeout, open_story_run
from tests.kubernetes.fault_injection.site import Site
from tests.kubernetes.fault_injection.story import FACTS, run_story

_CALM_LEASE: Final = 15.0
"""In seconds, the default: without faults, no adapter waits for the lease of another one."""
_REST_SECONDS: Final = 1.0
"""Time without changes that ends a run."""
_NOTICED: Final = "The local clock is wrong"


class CaseResult(NamedTuple):
    """The result of one case."""

    case: FaultCase
    problems: list[str]
    seconds: float
    calls: int
    """Number of calls of all adapters."""


def run_without_faults(site: Site) -> Mapping[str, EndState]:
    """Return the end state of the story without faults.

    Raises AssertionError if the story does not end or violates a rule.
    """
    with open_story_run(site, lease=f"{_CALM_LEASE:g}s") as run:
        run_story(run)
        run.until(run.is_settled, "nothing is under way")
        end = run.end_state()
    problems = find_violations(run.history, FACTS._replace(lease_seconds=_CALM_LEASE))
    assert not problems, problems
    return end


def run_case(site: Site, case: FaultCase, end: Mapping[str, EndState]) -> CaseResult:
    """Run a case: it must reach the end state of the undisturbed run and violate no rule."""
    faults, began, problems = case.faults(), time.monotonic(), []
    with open_story_run(
        site,
        faults,
        patience=case.patience,
        lease=f"{case.lease:g}s",
        adapters=case.adapters,
        clock_offset=case.clock_offset,
    ) as run:
        try:
            run_story(run)
            wait_for_rest(run, end)
        except StoryTimeout as stuck:
            problems.append(str(stuck))
    problems += [problem for fault in faults for problem in fault.problems()]
    unaware = [one for one in run.adapters if one.clock_offset and _NOTICED not in one.program.output]
    problems += [f"{one.actor} noticed nothing of its clock" for one in unaware]
    problems += find_violations(run.history, FACTS._replace(lease_seconds=case.lease))
    return CaseResult(case, problems, time.monotonic() - began, len(run.history.calls))


def wait_for_rest(run: StoryRun, end: Mapping[str, EndState]) -> None:
    """Return when nothing is in flight and the run has an end state that stays. Raises StoryTimeout."""
    try:
        run.until(lambda: run.is_settled() and run.end_state() == end, "it ends as the undisturbed run")
    except StoryTimeout as stuck:
        raise StoryTimeout(f"{stuck}\nit ended as {run.end_state()}") from None
    time.sleep(_REST_SECONDS)
    run.until(lambda: run.end_state() == end, "it stays as it ended")
