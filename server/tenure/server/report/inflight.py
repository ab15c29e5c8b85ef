"""What became of groups that were accepted earlier and are not done."""

from typing import Final

from tenure.server.report.section import Column, Line, Section
from tenure.server.view import View
from tenure.v1 import decision_pb2 as pb

WHAT: Final = {
    pb.IN_FLIGHT_RESULT_KEPT: "send it again",
    pb.IN_FLIGHT_RESULT_REDEEMED: "redeemed",
    pb.IN_FLIGHT_RESULT_FINISHED: "finished",
    pb.IN_FLIGHT_RESULT_LAPSED: "lapsed, drop it",
    pb.IN_FLIGHT_RESULT_CANCELLED: "cancelled, drop it",
}


def in_flight(view: View) -> Section:
    """Every group in flight, whom it is for, what to do with it, and why."""
    beneficiaries = {group.id: group.beneficiary for group in view.snapshot.in_flight_groups}
    lines = []
    for status in view.response.in_flight_groups:
        uid, what = beneficiaries.get(status.id, ""), WHAT.get(status.result, "send it again")
        _, _, why = status.reason.message.partition(": ")
        cells = (status.id, view.name(uid), what, why.removesuffix("."))
        lines.append(Line(cells, (view.queue(uid), what)))
    columns = (Column("Group"), Column("For"), Column("What to do"), Column("Why", wraps=True))
    return Section("Groups in flight", columns, ("Queue", "What to do"), lines)
