"""Text of a response: a headline, then outcomes, evictions, notices, protections, queues and warnings."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from rich.console import Console
from rich.text import Text
from tenure.render.limits import render_limits
from tenure.render.notices import render_notices
from tenure.render.overdue import render_overdue
from tenure.render.planned_starts import render_planned_starts
from tenure.render.protected import render_protected
from tenure.render.queues import render_queues
from tenure.render.response_view import ResponseView
from tenure.render.sections import (
    print_wake,
    render_evicted,
    render_headline,
    render_in_flight,
    render_pending,
    render_scheduled,
    render_waiting_for_capacity,
    render_warnings,
)
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot

__all__ = ["print_report"]
NONE: Final[Mapping[str, str]] = MappingProxyType({})


def print_report(
    console: Console, snapshot: ClusterSnapshot, response: DecideResponse, remedies: Mapping[str, str] = NONE
) -> None:
    """Print the report of a response to a snapshot. Equal input and width give equal text.

    `remedies` are sentences about what was tested for pending pod groups, by uid.
    """
    view = ResponseView(snapshot, response)
    console.print(Text(render_headline(view), style="bold"), "\n", sep="")
    for section in (
        render_scheduled,
        render_waiting_for_capacity,
        partial(render_pending, remedies=remedies),
        render_planned_starts,
        render_evicted,
        render_notices,
        render_limits,
        render_in_flight,
        render_overdue,
        render_protected,
        render_queues,
        render_warnings,
    ):
        section(view).print(console)
    print_wake(console, view)
