"""Plays a case and says what came of it."""

import time
from collections.abc import Mapping
from typing import Final, NamedTuple

from tests.kube.faults.rows import Case
from tests.kube.faults.rules import broken
from tests.kube.faults.run import EndState, Run, Stuck, running
from tests.kube.faults.site import Site
from tests.kube.faults.story import FACTS, play

_REST_SECONDS: Final = 1.0
"""For so long nothing more happens in the end."""
_NOTICED: Final = "The clock of this machine is wrong"


class Played(NamedTuple):
    """What came of one case."""

    case: Case
    problems: list[str]
    seconds: float
    calls: int
    """Of adapters, all together."""


def undisturbed(site: Site) -> Mapping[str, EndState]:
    """How the story ends when nothing fails. Raises AssertionError when it does not end, or breaks a rule."""
    with running(site) as run:
        play(run)
        run.until(run.is_settled, "nothing is under way")
        end = run.end_state()
    problems = broken(run.history, FACTS)
    assert not problems, problems
    return end


def played(site: Site, case: Case, end: Mapping[str, EndState]) -> Played:
    """One run: it must end as the undisturbed one did, and break no rule on the way."""
    faults, began, problems = case.faults(), time.monotonic(), []
    with running(
        site,
        faults,
        patience=case.patience,
        lease=f"{case.lease:g}s",
        adapters=case.adapters,
        clock_offset=case.clock_offset,
    ) as run:
        try:
            play(run)
            _come_to_rest(run, end)
        except Stuck as stuck:
            problems.append(str(stuck))
    problems += [said for fault in faults for said in fault.problems()]
    unaware = [one for one in run.adapters if one.clock_offset and _NOTICED not in one.program.output]
    problems += [f"{one.actor} noticed nothing of its clock" for one in unaware]
    problems += broken(run.history, FACTS._replace(lease_seconds=case.lease))
    return Played(case, problems, time.monotonic() - began, len(run.history.calls))


def _come_to_rest(run: Run, end: Mapping[str, EndState]) -> None:
    try:
        run.until(lambda: run.is_settled() and run.end_state() == end, "it ends as the undisturbed run")
    except Stuck as stuck:
        raise Stuck(f"{stuck}\nit ended as {run.end_state()}") from None
    time.sleep(_REST_SECONDS)
    run.until(lambda: run.end_state() == end, "it stays as it ended")
