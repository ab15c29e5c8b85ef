"""Pod groups that were evicted without progress are protected from everybody after their next start."""

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, OutcomeKind, PatchKind
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.registry import BUILT_IN, DEFAULT_PLUGINS, check_profile, default_profile
from tenure.solver.testing import NOW, ClusterBuilder, apply_decisions
from tenure.solver.testing.options import GroupOptions
from tenure.terms.durations import SECOND, parse_duration
from tenure.terms.reasons import ReasonCode

from tests.solver.plugins.guards.evicting_actions import (
    contested_cluster,
    evictions_of,
    guard_verdict,
    profile,
    reported_protection,
)

GUARD = "victimcooldown"
TIMES = {
    "never evicted without progress": (0, "0s", {}, False),
    "once: a second before the default cooldown": (1, "9m59s", {}, True),
    "once: at the default cooldown": (1, "10m", {}, False),
    "twice: twice as long": (2, "19m59s", {}, True),
    "twice: at the end": (2, "20m", {}, False),
    "five times: a second before": (5, "2h39m59s", {}, True),
    "five times: at the end": (5, "2h40m", {}, False),
    "six times: the default maximum": (6, "3h59m59s", {}, True),
    "six times: at the maximum": (6, "4h", {}, False),
    "as often as a snapshot may say": (2**30, "3h59m59s", {}, True),
    "as often as a snapshot may say: at the maximum": (2**30, "4h", {}, False),
    "argument: a second before": (2, "59s", {"cooldown": "30s"}, True),
    "argument: at the end": (2, "1m", {"cooldown": "30s"}, False),
    "a maximum below the cooldown: a second before": (1, "4m59s", {"maxCooldown": "5m"}, True),
    "a maximum below the cooldown: at the end": (1, "5m", {"maxCooldown": "5m"}, False),
    "no cooldown": (9, "0s", {"cooldown": "0s"}, False),
    "a maximum of zero": (9, "0s", {"maxCooldown": "0s"}, False),
}
TAKING = ("reclaim", "preempt", "consolidation")
"""Actions other than requeue, which evicts only pod groups past their expected runtime."""


def started(action: str, ran: str | None, count: int = 1, **options: object) -> Cluster:
    """`old` started so long ago, after so many evictions without progress."""
    return contested_cluster(action, started_ago=ran, evictions_without_progress=count, **options)


@pytest.mark.parametrize("action", TAKING)
@pytest.mark.parametrize(("count", "ran", "arguments", "is_protected"), TIMES.values(), ids=TIMES)
def test_pod_group_is_not_evicted_before_its_cooldown_ends_r14_30(
    action: str, count: int, ran: str, arguments: dict[str, str], is_protected: bool
) -> None:
    cluster = started(action, ran, count)
    evicted = evictions_of(cluster, answer(cluster, profile(GUARD, action, **arguments)))
    assert {how for how, _ in evicted} == (set() if is_protected else {action})


def test_overdue_pod_group_is_protected_from_requeue_as_well() -> None:
    cluster, at = started("requeue", "39m", count=3), started("requeue", "40m", count=3)
    assert evictions_of(cluster, answer(cluster, profile(GUARD, "requeue"))) == []
    assert {how for how, _ in evictions_of(at, answer(at, profile(GUARD, "requeue")))} == {"requeue"}


@pytest.mark.parametrize("action", TAKING)
@pytest.mark.parametrize("guarded", BUILT_IN.guarded.names)
def test_guard_applies_to_the_actions_of_its_argument_only(action: str, guarded: str) -> None:
    cluster = started(action, "5m")
    evicted = evictions_of(cluster, answer(cluster, profile(GUARD, action, actions=guarded)))
    assert bool(evicted) is (action != guarded)
    assert (guard_verdict(cluster, action, GUARD, actions=guarded) is None) is (action != guarded)


@pytest.mark.parametrize("action", TAKING)
def test_surplus_is_protected_as_well(action: str) -> None:
    cluster = started(action, "5m", min_member=1)
    assert evictions_of(cluster, answer(cluster, profile(GUARD, action))) == []


def test_pod_group_with_unknown_start_is_not_protected_r14_31() -> None:
    verdict = guard_verdict(started("preempt", None, count=9), "preempt", GUARD)
    assert verdict == GuardVerdict(ProtectionScope.NOTHING, f"default of {GUARD}", guard=GUARD)


def test_verdict_has_detail_and_end() -> None:
    cluster, ends = started("preempt", "5m", count=2), NOW + 15 * 60 * SECOND
    assert guard_verdict(cluster, "preempt", GUARD) == GuardVerdict(
        ProtectionScope.ALL,
        f"default of {GUARD}",
        ends,
        "old was evicted 2 times in a row without progress and has just started again",
        ReasonCode.VICTIM_COOLDOWN,
        GUARD,
    )
    (protection,) = reported_protection(cluster, GUARD, actions="preempt, reclaim", cooldown="10m")
    assert protection[1:] == (
        GUARD,
        ("reclaim", "preempt"),
        ends,
        "argument cooldown",
        "",
        ProtectionScope.ALL,
        None,
    )


def test_outcome_of_the_preemptor_has_the_end_of_the_protection() -> None:
    cluster, ends = started("preempt", "5m"), NOW + 5 * 60 * SECOND
    decision = answer(cluster, profile(GUARD, "preempt"))
    (outcome,) = decision.outcomes
    assert (outcome.kind, outcome.reason.code) == (OutcomeKind.DELAYED, ReasonCode.VICTIM_COOLDOWN)
    assert (outcome.reason.until, outcome.reason.source) == (ends, GUARD)
    assert decision.next_wake_time == ends


def test_non_preemptible_pod_group_has_no_reported_protection() -> None:
    firm = Preemptibility.NON_PREEMPTIBLE
    assert reported_protection(started("preempt", "5m", preemptibility=firm), GUARD) == []


COUNTS = {
    "the first eviction": (0, "20m", {}, 1),
    "one more": (1, "25m", {}, 2),
    "a second before the default progress": (7, "59m59s", {"maxCooldown": "0s"}, 8),
    "at the default progress": (7, "1h", {"maxCooldown": "0s"}, 1),
    "long after it": (7, "3d", {}, 1),
    "a second before the argument": (1, "14m59s", {"progress": "15m"}, 2),
    "at the argument": (1, "15m", {"progress": "15m"}, 1),
    "any runtime is progress": (5, "0s", {"progress": "0s", "cooldown": "0s"}, 1),
    "an unknown start": (3, None, {}, 4),
    "the most that a snapshot may say": (2**30, "30m", {"maxCooldown": "0s"}, 2**30),
}


def patched_counts(decision: CycleResult) -> list[int]:
    kind = PatchKind.EVICTIONS_WITHOUT_PROGRESS
    return [p.value for group in decision.groups for p in group.patches if p.kind is kind]


@pytest.mark.parametrize(("count", "ran", "arguments", "patched"), COUNTS.values(), ids=COUNTS)
def test_eviction_counts_unless_it_follows_progress_r14_31(
    count: int, ran: str | None, arguments: dict[str, str], patched: int
) -> None:
    cluster = started("preempt", ran, count)
    assert patched_counts(answer(cluster, profile(GUARD, "preempt", **arguments))) == [patched]


def test_relocation_counts_as_an_eviction() -> None:
    cluster = started("consolidation", "20m", 0)
    decision = answer(cluster, profile(GUARD, "consolidation"))
    assert {evict.relocating for group in decision.groups for evict in group.evictions} == {True}
    assert patched_counts(decision) == [1]


def test_no_patch_without_the_guard() -> None:
    cluster = started("preempt", "20m", 3)
    decision = answer(cluster, default_profile())
    assert evictions_of(cluster, decision)
    assert patched_counts(decision) == []


START = parse_duration("9h40m")
EXAMPLE = {
    "10:00:00": "evicted, 1",
    "10:05:00": "starts",
    "10:14:59": "protected until 10:15:00",
    "10:15:00": "could be evicted",
    "10:30:00": "evicted, 2",
    "10:40:00": "starts",
    "10:59:59": "protected until 11:00:00",
    "11:00:00": "could be evicted",
    "11:10:00": "saves",
    "11:20:00": "evicted, 1",
}
"""The worked example: `old` started at 9:40. A checkpoint is progress, as running for an hour is."""


def clock(nanoseconds: int) -> str:
    minutes, seconds = divmod(nanoseconds // SECOND, 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}"


def time_of_day(text: str) -> int:
    hours, minutes, seconds = map(int, text.split(":"))
    return (hours * 3600 + minutes * 60 + seconds) * SECOND


def ask(
    count: int, last_start: int, saved: int | None, now: int, preemptor: str
) -> tuple[Cluster, CycleResult]:
    """Decide for a new preemptor while `old` runs, with its last checkpoint, if any."""
    builder = ClusterBuilder().node("n", gpus=1).queue("q", quota=1)
    ran = f"{(now - last_start) // SECOND}s"
    options: GroupOptions = {"started_ago": ran, "evictions_without_progress": count}
    if saved is not None:
        options["checkpoint_ago"] = f"{(now - saved) // SECOND}s"
    builder.pod_group("old", queue="q", **options).running("old", gpus=1, node="n")
    cluster = builder.pending(preemptor, queue="q", gpus=1, priority=75).build()
    return cluster, answer(cluster, cooling_profile())


def cooling_profile() -> Profile:
    return profile(GUARD, "preempt", cooldown="10m")


def test_worked_example_e14_4() -> None:
    count, last_start, saved = 0, START, None
    for text, happens in EXAMPLE.items():
        now = time_of_day(text)
        if happens == "starts":
            last_start = now
            continue
        if happens == "saves":
            saved = now
            continue
        cluster, decision = ask(count, last_start, saved, now, preemptor=f"job-at-{text}")
        evicted = bool(evictions_of(cluster, decision))
        if happens.startswith("protected"):
            assert not evicted
            (outcome,) = decision.outcomes
            assert outcome.reason.until is not None
            ends = clock(now + outcome.reason.until - NOW)
            assert (outcome.reason.code, ends) == (ReasonCode.VICTIM_COOLDOWN, happens.split()[-1])
        else:
            assert evicted, text
        if happens.startswith("evicted"):
            later = apply_decisions(cluster, decision, SECOND)
            old = next(group.facts for group in later.pod_groups if group.facts.name == "old")
            count = old.evictions_without_progress
            assert count == int(happens.split()[-1])


@pytest.mark.parametrize("argument", ["cooldown", "maxCooldown", "progress"])
def test_invalid_durations_are_rejected(argument: str) -> None:
    ((path, problem),) = check_profile(profile(GUARD, **{argument: "soon"}))
    assert path.endswith(f".arguments.{argument}")
    assert problem == "'soon' is not a duration: write it like 30s, 1h30m or 2d"


def test_guard_is_not_in_the_default_profile() -> None:
    assert GUARD not in DEFAULT_PLUGINS
