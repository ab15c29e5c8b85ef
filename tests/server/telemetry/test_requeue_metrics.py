"""Metrics of one response: a nomination counts for every plugin that evaluated it."""

from pathlib import Path

import pytest
from tenure.codec.encoded_response import NominationSummary, WarningSummary
from tenure.server.telemetry.requeue_metrics import count, initialize_counters
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import WARNING_CODE_LEGACY_PREEMPTIBILITY
from tenure.wire.enum_labels import enum_label

from tests.server.telemetry.captured_telemetry import Counts, count_metrics
from tests.server.telemetry.cycle_summaries import summary_with

NOMINATED = "kai_scheduler_requeue_nominations_total"
SKIPPED = "kai_scheduler_requeue_nomination_skipped_total"
COMMITTED = "kai_scheduler_requeue_committed_total"
ROLLED_BACK = "kai_scheduler_requeue_rolled_back_total"
WARNINGS = "tenure_snapshot_warnings_total"

BOTH = ("expectedruntime", "idle")


@pytest.fixture(autouse=True)
def _from_nothing() -> None:
    count_metrics()


def nomination_by_both(result: str, skip_reason: str = "UNSPECIFIED") -> NominationSummary:
    """A nomination by both plugins, or, if not due or skipped, an evaluation by both."""
    number = pb.NominationSkipReason.Value(f"NOMINATION_SKIP_REASON_{skip_reason}")
    return NominationSummary(
        pod_group="job",
        result=pb.NominationResult.Value(f"NOMINATION_RESULT_{result}"),
        skip_reason=number,
        is_candidate=result not in ("NOT_DUE", "SKIPPED"),
        plugins=BOTH,
        detail="",
        until=None,
        overrun=0,
        contender="",
        not_before=None,
        surplus_only=False,
        skips=tuple((plugin, number, "") for plugin in BOTH) if result == "SKIPPED" else (),
    )


def nominated_by_two_plugins(*names: str) -> Counts:
    return {(name, plugin): 1 for name in names for plugin in BOTH}


@pytest.mark.parametrize(
    ("nomination", "counts"),
    [
        (nomination_by_both("NOT_DUE"), {}),
        (nomination_by_both("SKIPPED", "COOLDOWN"), {(SKIPPED, plugin, "cooldown"): 1 for plugin in BOTH}),
        (nomination_by_both("NO_CONTENDER"), nominated_by_two_plugins(NOMINATED)),
        (nomination_by_both("NO_BENEFIT"), nominated_by_two_plugins(NOMINATED, ROLLED_BACK)),
        (nomination_by_both("PROTECTED"), nominated_by_two_plugins(NOMINATED)),
        (
            nomination_by_both("PROTECTED", "MINRUNTIME_PROTECTED"),
            {(SKIPPED, plugin, "minruntime_protected"): 1 for plugin in BOTH},
        ),
        (nomination_by_both("REQUEUED"), nominated_by_two_plugins(NOMINATED, COMMITTED)),
        (nomination_by_both("BUDGET_EXHAUSTED"), nominated_by_two_plugins(NOMINATED)),
        (nomination_by_both("ALREADY_MOVED"), nominated_by_two_plugins(NOMINATED)),
    ],
    ids=lambda given: pb.NominationResult.Name(given.result) if isinstance(given, NominationSummary) else "",
)
def test_every_result_counts_once_for_each_plugin_r12_64(
    nomination: NominationSummary, counts: Counts
) -> None:
    count(summary_with(nominations=(nomination,)))
    assert count_metrics() == counts


def test_nominations_are_counted_by_plugin() -> None:
    one = nomination_by_both("NO_CONTENDER")._replace(plugins=("expectedruntime",))
    count(summary_with(nominations=(one, nomination_by_both("NO_CONTENDER"), nomination_by_both("NOT_DUE"))))
    assert count_metrics() == {(NOMINATED, "expectedruntime"): 2, (NOMINATED, "idle"): 1}


def test_skipped_nominations_are_counted_by_plugin_and_reason() -> None:
    skips = [nomination_by_both("SKIPPED", reason) for reason in ("COOLDOWN", "NOT_RUNNING", "COOLDOWN")]
    skips[2] = skips[2]._replace(skips=skips[2].skips[:1])
    count(summary_with(nominations=tuple(skips)))
    assert count_metrics() == {
        (SKIPPED, "expectedruntime", "cooldown"): 2,
        (SKIPPED, "idle", "cooldown"): 1,
        (SKIPPED, "expectedruntime", "not_running"): 1,
        (SKIPPED, "idle", "not_running"): 1,
    }


def test_surplus_is_a_nomination_and_counts_among_surplus_too() -> None:
    count(summary_with(nominations=(nomination_by_both("NO_CONTENDER")._replace(surplus_only=True),)))
    assert count_metrics() == nominated_by_two_plugins(NOMINATED, "tenure_requeue_surplus_nominations_total")


def test_counters_exist_for_the_plugins_of_the_profile_only() -> None:
    initialize_counters(["idle"])
    assert {labels[1] for labels in count_metrics()} == {"idle"}
    initialize_counters([])
    assert count_metrics() == {}


def test_warnings_count_pod_groups_and_not_only_those_they_name() -> None:
    warning = WarningSummary(WARNING_CODE_LEGACY_PREEMPTIBILITY, "", "", ("a", "b"), 250)
    count(summary_with(warnings=(warning,)))
    assert count_metrics() == {(WARNINGS, "legacy_preemptibility"): 250}


@pytest.mark.parametrize("value", [999, -1])
def test_unknown_code_has_label_other(value: int) -> None:
    assert enum_label(pb.NominationSkipReason, value) == "other"


def test_the_documentation_names_every_counter_and_reason() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "metrics.md").read_text()
    reasons = [
        enum_label(pb.NominationSkipReason, value) for value in pb.NominationSkipReason.values() if value
    ]
    names = [NOMINATED, SKIPPED, COMMITTED, ROLLED_BACK, WARNINGS, *reasons]
    assert [name for name in names if f"`{name}`" not in page] == []
