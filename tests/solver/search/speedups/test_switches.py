"""Every speedup documents why it is sound, can be disabled alone or with all others, and is transparent."""

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions
from tenure.solver.registry import default_profile
from tenure.solver.search.search_components import SearchComponents
from tenure.solver.search.speedups import attach
from tenure.solver.testing import ClusterBuilder

from tests.solver.sessions import open_session

ROOT: Final = Path(__file__).parents[4]
FOLDER: Final = ROOT / "server" / "tenure" / "solver" / "search" / "speedups"
MODULES: Final = sorted(file for file in FOLDER.glob("*.py") if file.stem != "__init__")
SWITCHED: Final = ("node_order", "pod_groups", "simulation_order", "candidates")
"""The components that have a plain and a fast implementation."""
PARTS: Final = {
    "node_index": "node_order",
    "pod_group_index": "pod_groups",
    "simulation_order": "simulation_order",
    "candidate_sharing": "candidates",
    "failed_search_cache": "FailedSearchCache",
    "first_victim": "FirstVictim",
    "reclaim_bound": "Pruning",
    "pruning": "Pruning, Relocations",
    "kept_plans": "",
}
"""The components that each speedup replaces or adds; none for the one outside the search."""


def contested() -> ClusterBuilder:
    """A gang and single pods reclaim and preempt on three full nodes; one queue is protected for a while."""
    builder = ClusterBuilder().queue("rich", quota=1, weight=0).queue("poor", quota=10)
    builder.queue("kept", quota=0, weight=0, reclaim_min_runtime="1h")
    for name in ("a", "b", "c"):
        builder.node(name, gpus=4)
    for number in range(8):
        builder.running(f"rich{number}", queue="rich", gpus=1, node="abc"[number % 3])
    builder.running("kept", queue="kept", gpus=1, node="c", started_ago="1m")
    builder.running("mine", queue="poor", gpus=1, node="c", priority=40)
    builder.pending("gang", queue="poor", gpus=2, count=3)
    builder.pending("urgent", queue="poor", gpus=1, priority=80)
    return builder.pending("twin", queue="poor", gpus=4).pending("other twin", queue="poor", gpus=4)


def packed() -> ClusterBuilder:
    """Free GPUs are fragmented. A relocation frees a node."""
    builder = ClusterBuilder().node("a", gpus=2).node("b", gpus=2).queue("q")
    builder.running("on-a", queue="q", gpus=1, node="a").running("on-b", queue="q", gpus=1, node="b")
    return builder.pending("waits", queue="q", gpus=2)


def parts_of(*names: str) -> tuple[SearchComponents, SearchComponents]:
    """The components of a session without speedups, and with these."""
    session = open_session(contested().build())
    plain, fast = SearchComponents(session), SearchComponents(session)
    attach(fast, names)
    return plain, fast


@pytest.mark.parametrize("file", MODULES, ids=lambda file: file.stem)
def test_module_says_what_it_saves_why_it_is_sound_and_what_proves_it(file: Path) -> None:
    text = ast.get_docstring(ast.parse(file.read_text())) or ""
    found = re.fullmatch(r"Saves.*\nSound: .*\nSwitch: (.*)\nCompared by: (.*)", text, re.DOTALL)
    assert found is not None, text
    assert set(re.findall(r"`(\w+)`", found[1].split("Plain")[0])) <= set(SPEEDUPS)
    tests = re.findall(r"tests/[\w/]+\.py", found[2])
    assert tests
    assert [test for test in tests if not (ROOT / test).is_file()] == []


def test_every_name_is_tested() -> None:
    assert PARTS.keys() == set(SPEEDUPS)


@pytest.mark.parametrize(("name", "part"), PARTS.items())
def test_name_switches_a_part_or_adds_what_states_facts(name: str, part: str) -> None:
    plain, fast = parts_of(name)
    replaced = {part for part in SWITCHED if type(getattr(plain, part)) is not type(getattr(fast, part))}
    assert replaced | {type(each).__name__ for each in fast.speedups} == set(re.findall(r"\w+", part))


def test_without_names_all_parts_are_plain() -> None:
    plain, fast = parts_of()
    assert [part for part in SWITCHED if type(getattr(plain, part)) is not type(getattr(fast, part))] == []
    assert fast.speedups == ()


@pytest.mark.parametrize("case", [contested, packed])
@pytest.mark.parametrize(
    "speedups",
    [
        SPEEDUPS,
        *((name,) for name in SPEEDUPS),
        *(tuple(name for name in SPEEDUPS if name != off) for off in SPEEDUPS),
    ],
    ids="+".join,
)
def test_decisions_are_those_of_the_plain_search(
    case: Callable[[], ClusterBuilder], speedups: tuple[str, ...]
) -> None:
    plain, fast = (
        answer(case().build(), replace(default_profile(), options=CycleOptions(speedups=names)))
        for names in ((), speedups)
    )
    assert plain.groups
    assert fast.groups == plain.groups
    assert [outcome.kind for outcome in fast.outcomes] == [outcome.kind for outcome in plain.outcomes]
