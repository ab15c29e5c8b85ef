"""The list of workloads: protections with their ends, and the result of requeue nomination."""

import json

import pytest
from google.protobuf import text_format
from tenure.cli.workload_rows import workload_rows
from tenure.cli.workload_table import workloads_json
from tenure.codec.engine import Engine
from tenure.render.response_view import ResponseView
from tenure.solver.registry import default_profile
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.cli.workload_cases import (
    FIELD,
    NOW,
    SEMI,
    SNAPSHOT,
    Change,
    as_gang,
    as_pending,
    decide,
    default_snapshot,
    flat,
    only_json_object,
    render_table,
    unchanged,
    with_group,
    with_protection,
)

OPTS_OUT = with_group('preemptibility: PREEMPTIBILITY_PREEMPTIBLE opt_out_actions: "reclaim"')


@pytest.mark.parametrize(
    ("change", "cell", "number"),
    [
        (unchanged, "not protected", 0),
        (as_pending, "", 0),
        (FIELD, "while running", 1),
        (SEMI, "while running, minimum only", 1),
        (default_snapshot(as_gang, with_protection), "until 23:03 UTC, from its own queue (queue leaf)", 1),
        (with_protection, "until 23:03 UTC, minimum only, from its own queue (queue leaf)", 1),
        (OPTS_OUT, "while running, from reclaim (its own opt-out)", 1),
        (
            default_snapshot(OPTS_OUT, as_gang, with_protection),
            "until 23:03 UTC, from its own queue (queue leaf); and 1 more",
            2,
        ),
        (default_snapshot(SEMI, with_protection), "while running, minimum only", 1),
    ],
)
def test_the_protection_that_ends_first_is_shown(change: Change, cell: str, number: int) -> None:
    view, found = decide(change)
    facts = only_json_object(view, found)
    assert facts["is_protected"] == bool(number)
    protections = facts["protections"]
    assert isinstance(protections, list)
    assert len(protections) == number
    row = flat(render_table(view, found).split("─\n")[1])
    assert cell in row
    assert ("protected" in row) == (cell == "not protected")


def protection(
    guard: str, actions: str, scope: str = "ALL", until: int = 0, against: str = ""
) -> pb.Protection:
    message = pb.Protection(
        pod_group="u",
        guard=guard,
        actions=actions.split(),
        scope=f"PROTECTION_SCOPE_{scope}",
        against=against,
    )
    if until:
        message.until.FromSeconds(NOW + until)
    return message


EVERY = "preempt reclaim consolidation requeue"


@pytest.mark.parametrize(
    ("protections", "guards"),
    [
        ([protection("a", EVERY, until=9), protection("b", "reclaim", until=5)], ["a"]),
        ([protection("a", EVERY, until=5), protection("b", "reclaim", until=9)], ["a", "b"]),
        ([protection("a", EVERY, "CORE", until=9), protection("b", "reclaim", until=5)], ["b", "a"]),
        ([protection("a", EVERY), protection("b", EVERY)], ["a"]),
        ([protection("a", EVERY), protection("b", EVERY, until=9, against="x")], ["a"]),
        ([protection("a", EVERY, until=9), protection("a", EVERY, until=5, against="x")], ["a", "a"]),
        ([protection("a", EVERY, "UNSPECIFIED")], []),
    ],
    ids=[
        "what is wider and longer covers the other",
        "what ends sooner does not",
        "the minimum does not cover all",
        "of two alike one is enough",
        "everybody includes a queue",
        "of one guard the narrower counts",
        "nothing protected is no protection",
    ],
)
def test_protection_covered_by_another_is_omitted(
    protections: list[pb.Protection], guards: list[str]
) -> None:
    snapshot = text_format.Parse(SNAPSHOT, ClusterSnapshot())
    view = ResponseView(snapshot, DecideResponse(protections=protections))
    (found,) = workload_rows(view)
    assert [each.guard for each in found.protections] == guards


def expecting(duration: str) -> Change:
    note = f'annotations {{ key: "kai.scheduler/expected-runtime" value: "{duration}" }}'
    return with_group(f"preemptibility: PREEMPTIBILITY_PREEMPTIBLE {note}")


def expecting_by_queue(snapshot: ClusterSnapshot) -> None:
    snapshot.queues[0].expected_runtime.FromSeconds(7_200)


def unknown_start(snapshot: ClusterSnapshot) -> None:
    snapshot.pod_groups[0].ClearField("last_start_time")


LATE = expecting("5m")


@pytest.mark.parametrize(
    ("change", "cell", "result", "seconds"),
    [
        (unchanged, "10m", None, None),
        (as_pending, "pending", None, None),
        (unknown_start, "start time missing", None, None),
        (expecting("1h"), "10m of 1h; due at 23:03 UTC (in 50m)", "not_due", 3_600),
        (expecting_by_queue, "10m of 2h; due at 15 Nov 00:03 UTC (in 1h50m)", "not_due", 7_200),
        (LATE, "10m of 5m; overrun 5m: no contender", "no_contender", 300),
        (
            default_snapshot(LATE, with_group("requeue_not_before { seconds: 1700000100 }")),
            "10m of 5m; overrun 5m: cooldown until 22:15 UTC",
            "skipped",
            300,
        ),
        (default_snapshot(as_pending, LATE), "pending, expected 5m", "skipped", 300),
        (
            default_snapshot(unknown_start, LATE),
            "start time missing, expected 5m; not requeued: missing start",
            "skipped",
            300,
        ),
        (
            default_snapshot(LATE, with_group("last_start_time { seconds: 1700000060 }")),
            "starts in the future, expected 5m; not requeued: clock skew until 22:14 UTC",
            "skipped",
            300,
        ),
        (expecting("5"), "10m; not requeued: invalid duration", "skipped", None),
        (
            default_snapshot(expecting("5m"), FIELD),
            "10m of 5m; not requeued: it is not preemptible",
            "skipped",
            300,
        ),
    ],
)
def test_result_of_requeue_nomination_is_shown(
    change: Change, cell: str, result: str | None, seconds: int | None
) -> None:
    view, found = decide(change)
    facts = only_json_object(view, found)
    requeue = facts["requeue"]
    assert (requeue["result"] if isinstance(requeue, dict) else None) == result
    assert facts["expected_runtime_seconds"] == seconds
    assert cell in flat(render_table(view, found))


def with_requeue() -> ClusterSnapshot:
    """A pod group past its expected runtime, and a contender that fits only in its place."""
    snapshot = text_format.Parse(SNAPSHOT, ClusterSnapshot())
    LATE(snapshot)
    snapshot.pod_groups[0].requeue_delay.FromSeconds(600)
    snapshot.nodes[0].allocatable.gpu_milli = 2_000
    urgent = snapshot.pod_groups.add(uid="w", name="urgent", queue="leaf", priority=90)
    urgent.creation_time.seconds = 1
    snapshot.pods.add(uid="w0", pod_group="w", shape="gpu", status="POD_STATUS_PENDING")
    return snapshot


def test_requeue_is_listed_with_contender_and_cooldown() -> None:
    snapshot = with_requeue()
    request = DecideRequest(snapshot=snapshot, actions=["requeue"], include_pod_group_statuses=True)
    view = ResponseView(snapshot, Engine(default_profile()).decide(request).parse())
    found = workload_rows(view)
    assert "10m of 5m; overrun 5m: requeued for urgent" in flat(render_table(view, found))
    (requeue,) = [
        each["requeue"] for each in json.loads(workloads_json(view, found))["workloads"] if each["uid"] == "u"
    ]
    assert requeue == {
        "result": "requeued",
        "skip_reason": None,
        "detail": "Pod group job (queue leaf) exceeded its expected runtime and is requeued: "
        "urgent receives its capacity.",
        "nominated_by": ["expectedruntime"],
        "overrun_seconds": 300,
        "until": None,
        "contender": "w",
        "not_before": "2023-11-14T22:23:20Z",
    }


@pytest.mark.parametrize(
    ("allowed", "cell", "left"),
    [(1, "not protected", 1), (0, "disruption budget team/b is used up", 0), (None, None, 0)],
)
def test_disruption_budgets_that_hold_are_shown(allowed: int | None, cell: str | None, left: int) -> None:
    def change(snapshot: ClusterSnapshot) -> None:
        snapshot.pods[0].disruption_budgets.append("team/b")
        if allowed is not None:
            snapshot.disruption_budgets.add(name="team/b", allowed=allowed)

    view, found = decide(change)
    assert only_json_object(view, found)["disruption_budgets"] == [{"name": "team/b", "left": left}]
    assert (cell or "disruption budget team/b is used up") in flat(render_table(view, found))
