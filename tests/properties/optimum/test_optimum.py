"""Decisions beside proven optima, and proofs beside exhaustion. The check `optimum` compares many more."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from google.protobuf.json_format import ParseDict
from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests import __main__ as command
from tests.properties.optimum.case import ENGINE, Case, Figures, case_of
from tests.properties.optimum.cluster_facts import Candidate, ClusterFacts
from tests.properties.optimum.consolidations import moves_of, moves_summary, moves_table
from tests.properties.optimum.fair_shares import QueueFacts, fair_shares
from tests.properties.optimum.gang_snapshots import ACTIONS, CONSOLIDATION, GANG, action_of, gang_snapshot
from tests.properties.optimum.judged_choice import Chosen, certified, choose, groups_of_gang
from tests.properties.optimum.least_moves import least_moves
from tests.properties.optimum.least_victims import LeastVictims, Scope, measured
from tests.properties.optimum.legal_sets import legal_sets
from tests.properties.optimum.limits import limits, summary
from tests.properties.optimum.needless_moves import needless_moves
from tests.properties.optimum.shown_seed import write_moves, write_seed

SEEDS = range(60)


@pytest.mark.parametrize("in_order", [True, False])
def test_the_least_set_is_that_of_an_exhaustive_search(in_order: bool) -> None:
    compared = dict.fromkeys(ACTIONS, 0)
    for seed in range(160):
        facts = ClusterFacts(gang_snapshot(seed), action_of(seed))
        candidates = _few(facts.candidates)
        sets = [measured(facts, pods) for pods in legal_sets(facts, candidates, in_order)]
        for measure, second in (("pods", "gpus"), ("gpus", "pods")):
            found = LeastVictims(facts, candidates, in_order).least(measure, second)
            least = min(((getattr(each, measure), getattr(each, second)) for each in sets), default=None)
            taken = None if found is None else measured(facts, found)
            assert least == (taken and (getattr(taken, measure), getattr(taken, second))), seed
        if sets:
            compared[facts.action] += 1
            some = sorted(sets)[len(sets) // 2]
            better = LeastVictims(facts, candidates, in_order).better_than(some)
            is_dominated = any(each != some and _is_no_worse(each, some) for each in sets)
            assert (better is not None) == is_dominated, seed
            if better is not None:
                assert _is_no_worse(measured(facts, better), some)
    assert min(compared.values()) > 10


def _few(candidates: list[Candidate]) -> list[Candidate]:
    """So few that all sets can be listed."""
    few: list[Candidate] = []
    for candidate in candidates:
        if sum(len(each.pods) for each in (*few, candidate)) <= 10:
            few.append(candidate)
    return few


def _is_no_worse(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))


def test_sets_of_victims_are_legal_and_fair_shares_the_same() -> None:
    """What the oracle reads from the rules is what decisions keep."""
    judged = 0
    for seed in SEEDS:
        snapshot, action = gang_snapshot(seed), action_of(seed)
        facts = ClusterFacts(snapshot, action)
        response = ENGINE.decide(DecideRequest(snapshot=snapshot, actions=[action])).parse()
        shares = {queue.name: queue.fair_share.gpu_milli for queue in response.queues}
        assert shares == {name: 1000 * share for name, share in facts.fair.items()}
        for group in response.groups:
            evictions = [step.evict for step in group.decisions if step.HasField("evict")]
            if evictions and not any(evict.relocating for evict in evictions):
                pods = frozenset(evict.pod for evict in evictions)
                victims = {facts.group_of[pod] for pod in pods}
                own = [each for each in facts.candidates if each.uid in victims]
                assert LeastVictims(facts, own, in_order=False, among=pods).least("pods", "gpus"), seed
                judged += 1
    assert judged > 20


def test_no_decision_of_a_sample_is_better_than_its_optimum_or_evicts_for_good_without_need() -> None:
    cases = [case_of(seed) for seed in SEEDS]
    found = [case.now for case in cases if case.now is not None]
    assert len(found) > 25
    for each in found:
        assert each.fewest_pods <= each.pods
        assert each.fewest_gpus <= each.gpus
        assert not each.refuted or "moved" in each.refuted
    assert all(summary([case for case in cases if case.action == name]).decisions for name in ACTIONS)
    assert cases[:10] == [case_of(seed) for seed in range(10)]


CONTEST = {
    "cluster_id": "own",
    "version": 1,
    "now": "2026-03-02T12:00:00Z",
    "queues": [{"name": "a"}],
    "shapes": [{"id": f"s{gpus}", "gpu": {"devices": gpus}} for gpus in (1, 2, 4)],
}


def _contest(placed: dict[str, tuple[str, int]], waiting: int, minimums: dict[str, int]) -> ClusterSnapshot:
    """Two nodes of 4 GPUs; pods by name, with node and GPUs, of the pod group before the hyphen."""
    groups = sorted({name.split("-")[0] for name in placed})
    group = {"queue": "a", "preemptibility": "PREEMPTIBILITY_PREEMPTIBLE"}
    amounts = {"cpu_milli": 64_000, "memory_bytes": 1 << 40, "gpu_milli": 4000, "pods": 110}
    running = {"status": "POD_STATUS_RUNNING"}
    message: dict[str, Any] = {
        **CONTEST,
        "nodes": [{"name": name, "allocatable": amounts} for name in ("n0", "n1")],
        "pod_groups": [
            *({"uid": each, **group, "priority": 50, "min_member": minimums[each]} for each in groups),
            {"uid": GANG, **group, "priority": 90, "min_member": 1},
        ],
        "pods": [
            *(
                {"uid": uid, "pod_group": uid.split("-")[0], "shape": f"s{gpus}", "node": node, **running}
                for uid, (node, gpus) in placed.items()
            ),
            {"uid": f"{GANG}-0", "pod_group": GANG, "shape": f"s{waiting}", "status": "POD_STATUS_PENDING"},
        ],
    }
    for number, each in enumerate(message["pod_groups"]):
        each["creation_time"] = each["last_start_time"] = f"2026-03-02T1{number}:00:00Z"
    return ParseDict(message, ClusterSnapshot())


def test_a_whole_gang_is_dearer_than_one_pod_and_surplus_leaves_from_the_last_on() -> None:
    placed = {"big-0": ("n0", 2), "big-1": ("n1", 2), "one-0": ("n0", 2), "some-0": ("n1", 1)}
    snapshot = _contest({**placed, "some-1": ("n1", 1)}, 2, {"big": 2, "one": 1, "some": 0})
    facts = ClusterFacts(snapshot, "preempt")
    assert LeastVictims(facts, facts.candidates).least("pods", "gpus") == frozenset({"one-0"})
    first_only = [each for each in facts.candidates if each.uid == "some"]
    assert LeastVictims(facts, first_only, among={"some-0"}).least("pods", "gpus") is None
    assert certified(ENGINE, snapshot, facts, frozenset({"one-0"})) is not None
    assert certified(ENGINE, snapshot, facts, frozenset({"some-1"})) is None
    assert Scope(frozenset({"a"}), 50).has(facts.candidates[0])
    assert not Scope(frozenset({"a"}), 49).has(facts.candidates[0])
    assert not Scope(frozenset({"b"}), 50).has(facts.candidates[0])


def test_pods_that_change_places_are_needless_moves() -> None:
    placed = {"two-0": ("n0", 2), "two-1": ("n1", 2), "one-0": ("n0", 1)}
    facts = ClusterFacts(_contest(placed, 2, {"two": 2, "one": 1}), "preempt")
    assert needless_moves(facts, {"two-0", "two-1"}, set()) == 2
    facts = ClusterFacts(_contest(placed, 4, {"two": 2, "one": 1}), "preempt")
    assert needless_moves(facts, {"two-0", "two-1"}, {"one-0"}) == 1
    assert needless_moves(facts, {"two-0"}, {"one-0"}) == 0


def test_the_fewest_moves_of_scattered_pods() -> None:
    placed = {"one-0": ("n0", 1), "two-0": ("n1", 2), "two-1": ("n1", 1)}
    facts = ClusterFacts(_contest(placed, 4, {"one": 1, "two": 2}), CONSOLIDATION)
    assert least_moves(facts, "pods") == least_moves(facts, "gpus") == frozenset({"one-0"})
    facts = ClusterFacts(_contest({**placed, "one-1": ("n0", 2)}, 4, {"one": 2, "two": 2}), CONSOLIDATION)
    assert least_moves(facts, "pods") is None


def test_no_consolidation_of_a_sample_moves_fewer_pods_than_the_fewest() -> None:
    found = [moves_of(seed) for seed in range(30)]
    total = moves_summary(len(found), found)
    assert total.both > 3
    assert total.beyond_the_rules == total.not_proven == 0
    assert total.fewest_pods <= total.certified_pods <= total.pods
    assert total.fewest_gpus <= total.gpus
    assert total.ratio_median >= 1
    assert f"{total.pods:,}" in moves_table(total).columns[1]._cells


def test_fair_shares_of_the_examples_of_the_rulebook() -> None:
    """R4.21 and R4.22."""
    queues = [QueueFacts("A", "", 2, 2, 0, 0, 8), QueueFacts("B", "", 2, 1, 1, 0, 8)]
    assert fair_shares(8, {queue.name: queue for queue in queues}) == {"A": 5, "B": 3}
    queues = [QueueFacts("A", "", 0, 1, 0, 0, 1), QueueFacts("B", "", 0, 1, 1, 0, 9)]
    assert fair_shares(6, {queue.name: queue for queue in queues}) == {"A": 1, "B": 5}


def _case(first: int, now: int, best: int, **more: object) -> Case:
    def figures(amount: int) -> Figures:
        known = Figures(amount, amount, best, best, best, False, "", ())
        return known._replace(**more)  # type: ignore[arg-type]

    return Case(0, "preempt", figures(now), figures(first), False)


def test_limits_compare_the_gap_with_that_of_victims_in_order() -> None:
    good = {"preempt": summary([_case(5, 1, 1), _case(3, 3, 3)] * 50)}
    assert [limit.passed for limit in limits(good)] == [True] * 6
    assert good["preempt"].captured_pods == 1
    bad = {"preempt": summary([_case(5, 3, 1, dominated=True, refuted="one pod could stay")])}
    assert [limit.passed for limit in limits(bad)] == [False] * 6
    assert bad["preempt"].captured_gpus == 0.5
    one_bad = limits({**good, "reclaim": bad["preempt"]})
    assert [limit.values["preempt"] for limit in one_bad][:3] == ["100.0%", "100.0%", "0.0%"]
    assert [limit.passed for limit in one_bad] == [False] * 6


def test_command_prints_figures_as_json_and_counts_limits(capsys: pytest.CaptureFixture[str]) -> None:
    command.main(["optimum", "4", "--output", "json"])
    *document, counts = capsys.readouterr().out.splitlines()
    found = json.loads("\n".join(document))
    passed = [limit["passed"] for limit in found["limits"]]
    assert counts == f"{passed.count(True)} passed, {passed.count(False)} failed"
    assert [found["figures"][name]["clusters"] for name in ACTIONS] == [2, 2]


def test_a_shown_seed_is_a_snapshot_with_its_sets(tmp_path: Path) -> None:
    chosen = ((seed, choose(ENGINE, gang_snapshot(seed), action_of(seed))) for seed in SEEDS)
    seed = next(seed for seed, each in chosen if isinstance(each, Chosen))
    text = write_seed(seed, tmp_path).read_text()
    assert ParseDict(yaml.safe_load(text), ClusterSnapshot()) == gang_snapshot(seed)
    names = [line.split(":")[0] for line in text.splitlines()[1:4]]
    assert names == ["# taken", "# fewest pods", "# fewest GPUs"]
    text = write_moves(0, tmp_path).read_text()
    assert ParseDict(yaml.safe_load(text), ClusterSnapshot()) == gang_snapshot(0, CONSOLIDATION)
    assert "# fewest: " in text


@pytest.mark.parametrize("seed", [79, 583, 919])
def test_sets_by_need_start_a_gang_where_no_set_in_order_does_r14_22(seed: int) -> None:
    """Three clusters for which a legal set was known that no search in victim order finds."""
    profile = default_profile()
    in_order = Engine(replace(profile, options=replace(profile.options, victim_choice="inOrder")))
    snapshot, action = gang_snapshot(seed), action_of(seed)
    assert groups_of_gang(in_order, snapshot, action) == []
    assert groups_of_gang(Engine(profile), snapshot, action) != []


@pytest.mark.parametrize(("seed", "most"), [(302117, 8), (301665, 21)])
def test_sets_by_need_are_fair_to_the_queues_that_yield_r14_18(seed: int, most: int) -> None:
    """Each queue loses only what it has above its share."""
    found = choose(ENGINE, gang_snapshot(seed), action_of(seed))
    assert isinstance(found, Chosen)
    assert found.taken.measures.pods <= most
