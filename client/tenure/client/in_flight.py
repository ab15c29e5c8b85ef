"""In-flight groups: what a caller stores of accepted groups, and for how long.

    in_flight = retain_in_flight(in_flight, response)
    in_flight += map(track_group, response.groups)  # before the first of them is applied
    in_flight = update_in_flight(in_flight, client.report_results(...))

Send `in_flight` with the next snapshot, as its `in_flight_groups`.
"""

from collections.abc import Iterable

from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import (
    IN_FLIGHT_GROUP_STATE_IN_FLIGHT,
    IN_FLIGHT_GROUP_STATE_UNSPECIFIED,
    DecisionGroup,
    InFlightGroupStatus,
)
from tenure.v1.report_pb2 import GROUP_STATE_CONFLICT, DecisionResult, ReportResultsResponse
from tenure.v1.snapshot_pb2 import InFlightGroup
from tenure.wire.in_flight_rows import in_flight_row, reported_row

_IN_FLIGHT_STATES = (IN_FLIGHT_GROUP_STATE_IN_FLIGHT, IN_FLIGHT_GROUP_STATE_UNSPECIFIED)


def track_group(group: DecisionGroup) -> InFlightGroup:
    """In-flight row of an accepted decision group before its decisions are applied."""
    return in_flight_row(group)


def track_results(group: DecisionGroup, results: Iterable[DecisionResult]) -> InFlightGroup | None:
    """In-flight row of a group by the results of its decisions so far; None: send none.

    For callers that do not report; others take the row of the response (`update_in_flight`). Decisions
    without a result are still to be applied; after a failure in an all-or-nothing group, none of them is.
    """
    return reported_row(group, results)


def update_in_flight(groups: Iterable[InFlightGroup], response: ReportResultsResponse) -> list[InFlightGroup]:
    """In-flight rows after a report: those of the reported groups are replaced by those of the response."""
    statuses = {each.id: each for each in response.groups if each.state != GROUP_STATE_CONFLICT}
    kept = [group for group in groups if group.id not in statuses]
    return kept + [each.in_flight for each in statuses.values() if each.HasField("in_flight")]


def retain_in_flight(groups: Iterable[InFlightGroup], response: DecideResponse) -> list[InFlightGroup]:
    """In-flight groups to send again after a response; drop the others.

    Their reservations are changed in place: each names the pod that has it now.
    """
    statuses = {
        each.id: each for each in response.in_flight_group_statuses if each.state in _IN_FLIGHT_STATES
    }
    kept = [group for group in groups if group.id in statuses]
    for group in kept:
        replace_pods(group, statuses[group.id])
    return kept


def replace_pods(group: InFlightGroup, status: InFlightGroupStatus) -> None:
    """Give reservations of pods that no longer exist to those that replace them."""
    replaced = {each.pod: each.by for each in status.replaced_pods}
    for hold in group.reservations if replaced else ():
        hold.pod = replaced.get(hold.pod, hold.pod)
