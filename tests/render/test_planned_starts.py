"""Planned starts in the report (semantics R17.2, R17.6)."""

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.render.planned_starts import render_planned_starts
from tenure.render.response_view import ResponseView
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse

from tests.small_snapshot import small_snapshot


def test_planned_starts_come_first_and_say_what_they_rest_on() -> None:
    snapshot, response = small_snapshot(), DecideResponse()
    now = snapshot.now.seconds
    paused = response.planned_starts.add(pod_group="gone")
    paused.paused_until.seconds = now + 60
    response.planned_starts.add(pod_group="runs", certainty=pb.CERTAINTY_UNKNOWN)
    start = Timestamp(seconds=now + 3_600)
    late = response.planned_starts.add(pod_group="waits", start_time=start, certainty=pb.CERTAINTY_BOUNDED)
    late.delayed_by = pb.START_DELAY_OVERRUN
    for name in ("n1", "n2", "n3", "n4", "n5"):
        late.pods.add(node=name, pods=1)
    section = render_planned_starts(ResponseView(snapshot, response))
    cells = [row.cells for row in section.rows]
    assert [row[1].partition(" (")[2] or row[1] for row in cells] == [
        "in 1h)",
        "in 1m)",
        "not known",
    ]
    assert cells[0][2:] == ("by time limits", "n1, n2, n3 and 2 more", "a pod group runs longer than planned")
    assert cells[2][2:] == ("", "", "")


def test_response_without_planned_starts_has_no_such_section() -> None:
    assert not render_planned_starts(ResponseView(small_snapshot(), DecideResponse())).rows
