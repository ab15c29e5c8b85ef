"""Two answers compared, decision by decision."""

import pytest
from google.protobuf import text_format
from tenure.server.records.differences import Difference, Kind, differences, lost, other_fields
from tenure.v1.decision_service_pb2 import DecideResponse

ANSWER = """
groups { id: "g" action: "reclaim" beneficiary: "b"
  decisions { id: "1" evict { pod: "v" node: "n1" } reason { code: REASON_CODE_RECLAIMED } }
  decisions { id: "2" hold { pod: "b-0" node: "n1" gpu_groups: "d" }
              reason { code: REASON_CODE_VICTIMS_EVICTED } }
  decisions { id: "3" bind { pod: "b-1" node: "n2" } reason { code: REASON_CODE_ALLOCATED } }
  decisions { id: "4" patch { pod_group: "v" eviction_count: 3 } reason { code: REASON_CODE_STATE_CHANGED } }
  decisions { id: "5" patch { pod_group: "v" remember { victim: "v" preemptor: "b" } } }
}
outcomes { pod_group: "b" kind: OUTCOME_KIND_WAITING_FOR_VICTIMS }
counters { placements: 7 }
"""


def answer(text: str = ANSWER) -> DecideResponse:
    return text_format.Parse(text, DecideResponse())


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('id: "3" bind', 'id: "other" bind', []),
        ('pod: "b-1" node: "n2"', 'pod: "b-1" node: "n3"', [("other node", "bind", "b-1", "n2", "n3")]),
        (
            "CODE_RECLAIMED",
            "CODE_PREEMPTED",
            [("other reason", "evict", "v", "reclaimed", "preempted")],
        ),
        (
            'pod: "v" node: "n1"',
            'pod: "w" node: "n1"',
            [
                ("missing", "evict", "v", "n1 (reclaimed)", ""),
                ("added", "evict", "w", "", "n1 (reclaimed)"),
            ],
        ),
        (
            'gpu_groups: "d"',
            'gpu_groups: "e"',
            [("other content", "hold", "b-0", "n1 (victims_evicted)", "n1 (victims_evicted)")],
        ),
        (
            "eviction_count: 3",
            "eviction_count: 4",
            [("other content", "patch", "v", "eviction_count", "eviction_count")],
        ),
        (
            'preemptor: "b"',
            'preemptor: "c"',
            [("missing", "patch", "v", "remember", ""), ("added", "patch", "v", "", "remember")],
        ),
        (
            "KIND_WAITING_FOR_VICTIMS",
            "KIND_INFEASIBLE",
            [("other content", "outcome", "b", "waiting_for_victims", "infeasible")],
        ),
        ("placements: 7", "placements: 8", []),
    ],
)
def test_every_decision_that_is_not_the_same_is_told(
    old: str, new: str, expected: list[tuple[str, ...]]
) -> None:
    assert old in ANSWER
    assert [tuple(each) for each in differences(answer(), answer(ANSWER.replace(old, new)))] == expected


def test_the_rest_of_an_answer_is_compared_by_field() -> None:
    other = answer(ANSWER.replace("placements: 7", "placements: 8").replace('id: "3"', 'id: "x"'))
    other.next_wake_time.seconds = 0
    found = [each.subject for each in other_fields(answer(), other)]
    assert found == ["groups", "counters", "next_wake_time"]


def test_an_answer_that_was_stopped_early_lacks_what_came_later() -> None:
    stopped = answer()
    del stopped.groups[0].decisions[2:]
    stopped.outcomes[0].kind = 7
    assert lost(stopped, answer()) == []
    assert lost(answer(), stopped) == [
        Difference(Kind.MISSING, "bind", "b-1", "n2 (allocated)"),
    ]
