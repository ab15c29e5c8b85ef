"""Clusters in which pods relate to each other, played on: who is evicted, who starts, what is explained.

Rules R3.20, R3.70 to R3.76 and R5.64. In a closed cluster, every beneficiary starts, no reservation is
cancelled, and evictions end.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from tenure.cli.main import app
from typer.testing import CliRunner

CASES: Final = Path(__file__).parent / "cases"
CYCLES: Final = 60
QUIET: Final = 25
"""Cycles at the end in which nothing is evicted."""


class Expected(NamedTuple):
    """What is right. Pods without their number, if they have the number 0."""

    starts: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    """Pods that do not start."""
    evicted: tuple[str, ...] = ()
    """Pods that are evicted in the first cycle."""


PLAYED: Final = {
    "victim-of-the-same-app": Expected(starts=("new",), evicted=("low", "low-1")),
    "replicas-over-zones": Expected(starts=("web0", "api0", "job0"), evicted=("low0", "low1", "low2")),
    "reservation-under-spread": Expected(starts=("p4", "p8"), evicted=("r0", "r3")),
    "spread-needs-a-victim": Expected(starts=("p5", "p5-1", "p5-2"), evicted=("r3", "r3-1", "r3-2", "r4")),
    "subgroup-without-a-pod": Expected(starts=("pg-1",), never=("pg",)),
    "subgroup-without-a-pod-and-a-later-one": Expected(starts=("pg-1", "later"), never=("pg",)),
    "rest-of-a-subgroup": Expected(starts=("later",), never=("pg",)),
    "room-in-the-right-zone": Expected(starts=("svc2",)),
}


def played(name: str) -> list[dict[str, Any]]:
    """Responses of consecutive cycles."""
    options = ["--cycles", str(CYCLES), "--interval", "1m", "--output", "json"]
    ended = CliRunner().invoke(app, ["simulate", str(CASES / f"{name}.yaml"), *options])
    assert ended.exit_code == 0, ended.output
    found: list[dict[str, Any]] = json.loads(ended.stdout)["cycles"]
    return found


def decisions(cycle: dict[str, Any], kind: str) -> Iterator[str]:
    """Pods of the decisions of a kind."""
    for group in cycle.get("groups", ()):
        for step in group["decisions"]:
            if kind in step:
                yield step[kind]["pod"].removesuffix("-0")


@pytest.mark.parametrize("name", PLAYED)
def test_who_is_evicted_and_who_starts(name: str) -> None:
    cycles, expected = played(name), PLAYED[name]
    started = {pod for cycle in cycles for pod in decisions(cycle, "bind")}
    assert started >= set(expected.starts)
    assert started.isdisjoint(expected.never)
    if expected.evicted:
        assert sorted(decisions(cycles[0], "evict")) == sorted(expected.evicted)


@pytest.mark.parametrize("name", PLAYED)
def test_every_beneficiary_starts_and_evictions_end(name: str) -> None:
    cycles = played(name)
    states = [s["state"] for cycle in cycles for s in cycle.get("in_flight_group_statuses", ())]
    assert "IN_FLIGHT_GROUP_STATE_CANCELLED" not in states
    reserved = [pod for cycle in cycles[:-QUIET] for pod in decisions(cycle, "reserve")]
    started = [pod for cycle in cycles for pod in decisions(cycle, "bind")]
    assert set(reserved) <= set(started)
    assert [pod for cycle in cycles[-QUIET:] for pod in decisions(cycle, "evict")] == []


@pytest.mark.parametrize(
    ("name", "pod_group", "sentences"),
    [
        (
            "terminating-pod-keeps-away",
            "new",
            [
                "its required anti-affinity to pods of app=x is violated on node n1",
                "wait until the pods that are terminating are gone; it starts.",
                "add 1 node like node n1; it starts.",
            ],
        ),
        (
            "one-replica-per-host",
            "two",
            [
                "its required anti-affinity to pods of app=x is violated on node n1",
                "add 1 node like node n1; it starts.",
            ],
        ),
    ],
)
def test_explanation_names_the_relation_and_what_helps(
    name: str, pod_group: str, sentences: list[str]
) -> None:
    command = ["explain", str(CASES / f"{name}.yaml"), "why-pending", pod_group]
    text = " ".join(CliRunner().invoke(app, command).stdout.split())
    assert [sentence for sentence in sentences if sentence not in text] == []
    assert "but not enough" not in text
