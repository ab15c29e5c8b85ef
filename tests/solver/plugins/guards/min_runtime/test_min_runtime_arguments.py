"""Arguments of minruntime: accepted values, rejected values and defaults."""

import pytest
from tenure.solver.registry import check_profile

from tests.solver.plugins.guards.min_runtime.contested_gpu import (
    evicted_pods,
    preemption_cluster,
    profile,
    reclaim_cluster,
    tree,
)

DURATIONS = ("defaultPreemptMinRuntime", "defaultReclaimMinRuntime")
METHOD = "reclaimResolveMethod"

VALID = [
    *(
        (name, text)
        for name in DURATIONS
        for text in ("0s", "0", "20s", "10m", "1h30m", "1d", "1w2d", ".5h", "+1h", "1.h")
    ),
    (METHOD, "lca"),
    (METHOD, "queue"),
]
INVALID = [
    *((name, text) for name in DURATIONS for text in ("", "10", "-10m", "10 m", "ten", "1y", "1h30")),
    *((METHOD, text) for text in ("", "LCA", "Queue", "leaf", " lca")),
]


@pytest.mark.parametrize(("name", "text"), VALID)
def test_valid_values_are_accepted(name: str, text: str) -> None:
    assert check_profile(profile(**{name: text})) == []


@pytest.mark.parametrize(("name", "text"), INVALID)
def test_invalid_values_are_rejected_with_their_path(name: str, text: str) -> None:
    ((path, problem),) = check_profile(profile(**{name: text}))
    assert path.endswith(f".arguments.{name}")
    assert problem.startswith(f"{text!r} is not a ")


def test_both_defaults_are_zero() -> None:
    pair = {"a": "", "b": ""}
    assert evicted_pods(preemption_cluster(tree(pair, rich="a"), "a", "0s"), profile()) == ["old-0"]
    assert evicted_pods(reclaim_cluster(tree(pair, rich="b"), "b", "a", "0s"), profile()) == ["old-0"]


DAYS = {"1d": "23h59m59s", "1w": "6d23h59m59s", "1h30m": "1h29m59s"}


@pytest.mark.parametrize(("default", "ran"), DAYS.items(), ids=DAYS)
def test_days_and_weeks_protect_for_their_length(default: str, ran: str) -> None:
    pair = {"a": "", "b": ""}
    chosen = profile(defaultReclaimMinRuntime=default)
    assert evicted_pods(reclaim_cluster(tree(pair, rich="b"), "b", "a", ran), chosen) == []
    assert evicted_pods(reclaim_cluster(tree(pair, rich="b"), "b", "a", default), chosen) == ["old-0"]
