"""The text report: its facts, its width, and identical output for identical input."""

from io import StringIO

import pytest
from rich.console import Console
from tenure.render import print_report
from tenure.terms.formatting import (
    format_clock,
    format_count,
    format_gpu_time,
    format_gpus,
    format_ordinal,
    format_remaining,
    format_rough,
    join_words,
)
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import (
    DecideResponse,
    DisruptionBudgetStatus,
    EvictionRateStatus,
    QueueStatus,
    ResourceShare,
)
from tenure.v1.snapshot_pb2 import ClusterSnapshot, Pod, PodGroup, Queue, QueueResource

SECOND = 1_000_000_000
NOW = 1_740_998_100 * SECOND
"""2025-03-03 10:35 UTC."""


def snapshot(*pod_groups: tuple[str, str]) -> ClusterSnapshot:
    """Build a snapshot with pod groups of one pod, given as (name, queue)."""
    message = ClusterSnapshot(cluster_id="test")
    message.now.FromNanoseconds(NOW)
    message.queues.append(Queue(name="root", gpu_milli=QueueResource(quota=8000)))
    message.queues.append(Queue(name="leaf", parent="root"))
    for name, queue in pod_groups:
        message.pod_groups.append(PodGroup(uid=f"uid-{name}", name=name, queue=queue))
        message.pods.append(Pod(uid=f"pod-{name}", name=f"{name}-0", pod_group=f"uid-{name}"))
    return message


def bind(name: str, node: str = "n1") -> pb.DecisionGroup:
    step = pb.Decision(bind=pb.Bind(pod=f"pod-{name}", node=node))
    return pb.DecisionGroup(action="allocate", beneficiary=f"uid-{name}", decisions=[step])


def evict(victim: str, beneficiary: str, code: pb.ReasonCode = pb.REASON_CODE_RECLAIMED) -> pb.DecisionGroup:
    uid = f"uid-{beneficiary}"
    step = pb.Evict(pod=f"pod-{victim}", node="n1", preemptor=uid)
    hold = pb.Decision(reserve=pb.Reserve(pod=f"pod-{beneficiary}", node="n1"))
    decisions = [pb.Decision(evict=step, reason=pb.Reason(code=code)), hold]
    return pb.DecisionGroup(action="reclaim", beneficiary=uid, decisions=decisions)


def outcome(name: str, kind: pb.OutcomeKind, detail: str = "", until: int = 0) -> pb.PodGroupOutcome:
    reason = pb.Reason(code=pb.REASON_CODE_INSUFFICIENT_RESOURCES, detail=detail)
    if until:
        reason.until.FromNanoseconds(until)
    return pb.PodGroupOutcome(pod_group=f"uid-{name}", kind=kind, reason=reason)


def protection(name: str, minutes: int = 0, against: str = "", **fields: object) -> pb.Protection:
    """Build a protection by minruntime. `against` is the pod group's queue, or the root of other queues."""
    action = "preempt" if against == "leaf" else "reclaim"
    defaults = {
        "guard": "minruntime",
        "source": "queue leaf",
        "actions": [action, "consolidation", "requeue"],
    }
    defaults |= {"against": against, "scope": pb.PROTECTION_SCOPE_ALL}
    message = pb.Protection(**{"pod_group": f"uid-{name}", **defaults, **fields})
    if minutes:
        message.until.FromNanoseconds(NOW + minutes * 60 * SECOND)
    return message


def report(snapshot: ClusterSnapshot, response: DecideResponse, width: int = 100) -> str:
    console = Console(file=StringIO(), width=width)
    print_report(console, snapshot, response)
    file = console.file
    assert isinstance(file, StringIO)
    return file.getvalue()


def flat(text: str) -> str:
    return " ".join(text.split())


STORY = snapshot(("new", "leaf"), ("urgent", "leaf"), ("stuck", "leaf"), ("old", "leaf"), ("young", "leaf"))
ANSWER = DecideResponse(
    groups=[bind("new"), evict("old", "urgent", pb.REASON_CODE_PREEMPTED)],
    outcomes=[
        outcome("new", pb.OUTCOME_KIND_BOUND),
        outcome("urgent", pb.OUTCOME_KIND_WAITING_FOR_VICTIMS),
        outcome("stuck", pb.OUTCOME_KIND_DELAYED, "not yet", until=NOW + 90 * SECOND),
    ],
    protections=[protection("young", minutes=7)],
    queues=[
        QueueStatus(
            name=name,
            fair_share=ResourceShare(gpu_milli=6000),
            allocated_before=ResourceShare(gpu_milli=1500),
            allocated_after=ResourceShare(gpu_milli=4000),
        )
        for name in ("leaf", "root")
    ],
)


@pytest.mark.parametrize(
    "fact",
    [
        "10:35 UTC: 1 pod group scheduled, 1 waiting for 1 evicted pod and 1 pending.",
        "new leaf 1 n1",
        "urgent leaf n1 1 pod of old",
        "stuck leaf is delayed: not yet; may change at 10:36 UTC (in 1m30s)",
        "old 1 urgent the preemptor has higher priority in the same queue",
        "young other queues 10:42 UTC (in 7m) minruntime, queue leaf",
        "root 8 6 1.5 4 ████████········│",
        "leaf no limit 6 1.5 4 ████████········",
    ],
)
def test_report_contains_the_fact(fact: str) -> None:
    assert fact in flat(report(STORY, ANSWER))


SETS: dict[str, tuple[pb.VictimSet, str]] = {
    "cost": (
        pb.VictimSet(minimality="MINIMALITY_PROVEN", disrupted_pods=1, cost=5_760),
        "1 pod of old (costs 96 GPU minutes)",
    ),
    "cost of the next best": (
        pb.VictimSet(
            minimality="MINIMALITY_PROVEN", disrupted_pods=1, cost=60, next_best_pods=2, next_best_cost=7_200
        ),
        "1 pod of old (costs 60 GPU seconds; next best: 2 pods for 2.0 GPU hours)",
    ),
    "next best without costs": (
        pb.VictimSet(minimality="MINIMALITY_HEURISTIC", disrupted_pods=2, next_best_pods=3),
        "1 pod of old (next best: 3 pods; perhaps not all of them are needed)",
    ),
}


@pytest.mark.parametrize("name", SETS)
def test_report_tells_costs_of_victims_and_of_the_next_best_r14_8_r14_10(name: str) -> None:
    known, text = SETS[name]
    answer = DecideResponse()
    answer.CopyFrom(ANSWER)
    answer.groups[1].victim_set.CopyFrom(known)
    answer.groups[1].victim_set.victim_costs.add(pod_group="uid-old", pods=1, cost=known.cost)
    shown = flat(report(STORY, answer, width=200))
    assert text in shown
    if known.HasField("cost"):
        assert "higher priority in the same queue; costs" in shown


@pytest.mark.parametrize("width", [80, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(len, report(STORY, ANSWER, width).splitlines())) <= width


def test_equal_responses_have_equal_text() -> None:
    assert report(STORY, ANSWER) == report(STORY, ANSWER)


def test_empty_response_has_a_headline_and_no_table() -> None:
    text = report(snapshot(), DecideResponse())
    assert text.strip() == "10:35 UTC: no pod group has pods to schedule."


EVERY = ["reclaim", "preempt", "consolidation", "requeue"]
PROTECTED = {
    "by one guard from all actions": (
        [protection("young", actions=EVERY)],
        "young all while running",
    ),
    "by one guard from its own queue and from others": (
        [protection("young", 7), protection("young", 7, against="leaf")],
        "young all 10:42 UTC (in 7m)",
    ),
    "from its own queue only": ([protection("young", 7, against="leaf")], "young its own queue 10:42 UTC"),
    "from a part of the tree": (
        [protection("young", 7, against="root")],
        "young other queues of root 10:42 UTC",
    ),
    "from other queues, those of a part of the tree included": (
        [protection("young", 7), protection("young", 7, against="root")],
        "young other queues 10:42 UTC (in 7m)",
    ),
    "its minimum only": (
        [protection("young", 7, scope=pb.PROTECTION_SCOPE_CORE)],
        "10:42 UTC (in 7m), minimum only",
    ),
}


@pytest.mark.parametrize(("protections", "fact"), PROTECTED.values(), ids=PROTECTED)
def test_protections_are_listed_with_preemptors_and_end(protections: list[pb.Protection], fact: str) -> None:
    assert fact in flat(report(STORY, DecideResponse(protections=protections)))


def test_exception_from_a_wider_protection_is_not_listed() -> None:
    nothing = protection("young", against="root", scope=pb.PROTECTION_SCOPE_UNSPECIFIED)
    assert "young" not in report(STORY, DecideResponse(protections=[nothing]))


def test_protections_are_sorted_by_end_and_endless_ones_last() -> None:
    guards = [protection("old"), protection("new", 9), protection("young", 7)]
    text = report(STORY, DecideResponse(protections=guards))
    assert text.index("young") < text.index("new ") < text.index("old ")


def test_long_table_is_shortened_with_a_note() -> None:
    names = [f"job-{i:03}" for i in range(60)]
    waiting = [outcome(name, pb.OUTCOME_KIND_INFEASIBLE, "no room") for name in names]
    text = report(snapshot(*[(name, "leaf") for name in names]), DecideResponse(outcomes=waiting))
    assert "60 leaf insufficient resources" in flat(text)
    assert "job-004" in text
    assert "job-005" not in text
    assert "… and 55 more: --output json shows all." in text


def test_reasons_of_a_later_version_do_not_break_the_report() -> None:
    answer = DecideResponse(groups=[evict("old", "urgent", 999)])  # type: ignore[arg-type]
    assert "old 1 urgent" in flat(report(STORY, answer))


def test_unknown_uids_are_printed_verbatim() -> None:
    assert "uid-ghost" in report(snapshot(), DecideResponse(groups=[bind("ghost")]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (format_clock(NOW, NOW), "10:35 UTC"),
        (format_clock(NOW + 86_400 * SECOND, NOW), "4 Mar 10:35 UTC"),
        (format_clock(NOW + 366 * 86_400 * SECOND, NOW), "4 Mar 2026 10:35 UTC"),
        (format_remaining(NOW + 420 * SECOND, NOW), "10:42 UTC (in 7m)"),
        (format_rough(SECOND // 2), "1s"),
        (format_rough(601 * SECOND), "11m"),
        (format_rough(50 * 3_600 * SECOND + 1), "2d3h"),
        (format_gpus(1_204_000), "1,204"),
        (format_gpus(460), "0.46"),
        (format_gpus(0), "0"),
        (format_gpus(-1), "no limit"),
        (format_gpu_time(1), "1 GPU second"),
        (format_gpu_time(119), "119 GPU seconds"),
        (format_gpu_time(5_400), "90 GPU minutes"),
        (format_gpu_time(7_200), "2.0 GPU hours"),
        (format_gpu_time(36_000_000), "10,000.0 GPU hours"),
        (format_ordinal(1), "first"),
        (format_ordinal(9), "ninth"),
        (format_ordinal(10), "10th"),
        (format_ordinal(112), "112th"),
        (format_ordinal(23), "23rd"),
        (format_ordinal(101), "101st"),
        (format_count(1, "pod"), "1 pod"),
        (format_count(2, "pod"), "2 pods"),
        (join_words([]), ""),
        (join_words(["a"]), "a"),
        (join_words(["a", "b", "c"]), "a, b and c"),
    ],
)
def test_times_and_amounts_have_a_short_form(text: str, expected: str) -> None:
    assert text == expected


def test_in_flight_groups_are_listed_with_their_state() -> None:
    asked = snapshot(("new", "leaf"), ("old", "leaf"))
    asked.pods[1].node = "n1"
    group = asked.in_flight_groups.add(id="f1", beneficiary="uid-new")
    group.evictions.add(pod="pod-old", node="n1", pod_group="uid-old")
    answer = DecideResponse(outcomes=[outcome("new", pb.OUTCOME_KIND_WAITING_FOR_VICTIMS)])
    status = answer.in_flight_group_statuses.add(id="f1", state=pb.IN_FLIGHT_GROUP_STATE_IN_FLIGHT)
    status.reason.detail = "its decisions are not yet visible in the snapshot"
    status.reservations.add(pod="pod-new", node="n1", pod_group="uid-new")
    text = flat(report(asked, answer))
    assert "Waiting for capacity Pod group Queue Reserved on Waiting for" in text
    assert "new leaf n1 1 pod of old" in text
    assert "In-flight groups Group For Action Reason" in text
    assert "f1 new keep sending its decisions are not yet visible in the snapshot" in text


def test_limits_of_disruptions_are_shown_with_what_is_taken() -> None:
    status = [DisruptionBudgetStatus(name="team/web", allowed=3, in_flight=1, spent=1, left=1)]
    rates = [
        EvictionRateStatus(name="slow", before_milli=4_000, after_milli=-2_000),
        EvictionRateStatus(name="idle", before_milli=1_500, after_milli=1_500),
    ]
    response = DecideResponse(disruption_budgets=status, eviction_rates=rates)
    lines = [line.split() for line in report(snapshot(), response).splitlines()]
    assert ["budget", "team/web", "3", "2", "1"] in lines
    assert ["rate", "slow", "4", "6", "-2"] in lines
    assert not any("idle" in line for line in lines)
