"""Decision groups in flight in a run: reservations, and notices with their ends.

A group stays in flight until a response says otherwise. Its evictions and bindings show at once.
"""

from collections import Counter
from collections.abc import Iterable

from tenure.simulator.results import ENDED, EVICTED, WITHDRAWN, Notice, Results
from tenure.simulator.state_rows import StateRows
from tenure.simulator.workloads import Workloads
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import DecisionGroup, InFlightGroupState
from tenure.wire.in_flight_rows import in_flight_row, is_empty


class InFlightGroups:
    """Rows of the groups in flight, and of the notices of a run."""

    def __init__(self, rows: StateRows, work: Workloads, results: Results) -> None:
        self._rows, self._work, self._notices = rows, work, results.notices
        self._open: dict[str, dict[str, int]] = {}
        """Rows of the notices that stand, by in-flight group and victim."""

    def accept(self, group: DecisionGroup, evicted: Iterable[str], now: int) -> None:
        """Put the reservations and notices of a group in flight, and end the notices that it carries out or
        withdraws. Its other decisions were applied before; `evicted` are the pod groups of its evictions.
        """
        flight = in_flight_row(group)
        flight.ClearField("evictions")
        flight.ClearField("bindings")
        announced_pods = Counter([notice.pod_group for notice in flight.notices])
        for decision in group.decisions:
            if decision.HasField("withdraw_notice"):
                self._end(group.fulfills_group_id, decision.withdraw_notice.pod_group, WITHDRAWN, now)
        for victim in evicted:
            self._end(group.fulfills_group_id, victim, EVICTED, now)
        if not is_empty(flight):
            self._rows.put("in_flight_groups", flight)
        for victim, pods in announced_pods.items():
            self._open.setdefault(group.id, {})[victim] = len(self._notices)
            names = group.beneficiary, group.action, group.id
            self._notices.append(Notice(now, victim, pods, *names, group.evict_time.ToNanoseconds()))
            self._work.give_notice(victim, now)

    def track(self, response: DecideResponse, now: int) -> None:
        """Drop the groups that a response drops, after its own groups were accepted, and give reservations of
        pods that are gone to those that replace them.

        Pods of the notices that still stand were gone before.
        """
        for status in response.in_flight_group_statuses:
            if status.state > InFlightGroupState.IN_FLIGHT_GROUP_STATE_IN_FLIGHT:
                self._rows.remove("in_flight_groups", status.id)
                for victim in list(self._open.get(status.id, ())):
                    self._end(status.id, victim, ENDED, now)
            elif status.replaced_pods:
                replaced = {each.pod: each.by for each in status.replaced_pods}
                for hold in self._rows.get("in_flight_groups")[status.id].reservations:
                    hold.pod = replaced.get(hold.pod, hold.pod)
                self._rows.changed("in_flight_groups", status.id)

    def _end(self, flight: str, victim: str, result: str, now: int) -> None:
        victims = self._open.get(flight, {})
        row = victims.pop(victim, None)
        if row is None:
            return  # it was evicted without notice, or another pod of it ended the notice
        if not victims:
            del self._open[flight]
        self._notices[row] = self._notices[row]._replace(end=now, result=result)
        self._work.end_notice(victim)
