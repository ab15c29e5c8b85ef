"""Compare two responses, decision by decision."""

import pytest
from google.protobuf import text_format
from tenure.server.records.replay import (
    Difference,
    DifferenceKind,
    compare_responses,
    missing_decisions,
    other_fields,
)
from tenure.v1.decide_pb2 import DecideResponse

ANSWER = """
groups { id: "g" action: "reclaim" beneficiary: "b"
  decisions { id: "1" evict { pod: "v" node: "n1" } reason { code: REASON_CODE_RECLAIMED } }
  decisions { id: "2" reserve { pod: "b-0" node: "n1" gpu_groups: "d" }
              reason { code: REASON_CODE_VICTIMS_EVICTED } }
  decisions { id: "3" bind { pod: "b-1" node: "n2" } reason { code: REASON_CODE_ALLOCATED } }
  decisions { id: "4" patch { pod_group: "v" eviction_count: 3 } reason { code: REASON_CODE_FIELD_UPDATED } }
  decisions { id: "5" patch { pod_group: "v" set_eviction_record { victim: "v" preemptor: "b" } } }
}
outcomes { pod_group: "b" kind: OUTCOME_KIND_WAITING_FOR_VICTIMS }
counters { placement_attempts: 7 }
"""


def parse_response(text: str = ANSWER) -> DecideResponse:
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
            [("other content", "reserve", "b-0", "n1 (victims_evicted)", "n1 (victims_evicted)")],
        ),
        (
            "eviction_count: 3",
            "eviction_count: 4",
            [("other content", "patch", "v", "eviction_count", "eviction_count")],
        ),
        (
            'preemptor: "b"',
            'preemptor: "c"',
            [
                ("missing", "patch", "v", "set_eviction_record", ""),
                ("added", "patch", "v", "", "set_eviction_record"),
            ],
        ),
        (
            "KIND_WAITING_FOR_VICTIMS",
            "KIND_INFEASIBLE",
            [("other content", "outcome", "b", "waiting_for_victims", "infeasible")],
        ),
        ("placement_attempts: 7", "placement_attempts: 8", []),
    ],
)
def test_every_changed_decision_is_a_difference(old: str, new: str, expected: list[tuple[str, ...]]) -> None:
    assert old in ANSWER
    assert [
        tuple(each) for each in compare_responses(parse_response(), parse_response(ANSWER.replace(old, new)))
    ] == expected


def test_remaining_response_is_compared_by_field() -> None:
    other = parse_response(
        ANSWER.replace("placement_attempts: 7", "placement_attempts: 8").replace('id: "3"', 'id: "x"')
    )
    other.next_wake_time.seconds = 0
    found = [each.subject for each in other_fields(parse_response(), other)]
    assert found == ["groups", "counters", "next_wake_time"]


def test_missing_decisions_of_a_stopped_response_are_differences() -> None:
    stopped = parse_response()
    del stopped.groups[0].decisions[2:]
    stopped.outcomes[0].kind = 7
    assert missing_decisions(stopped, parse_response()) == []
    assert missing_decisions(parse_response(), stopped) == [
        Difference(DifferenceKind.MISSING, "bind", "b-1", "n2 (allocated)"),
    ]
