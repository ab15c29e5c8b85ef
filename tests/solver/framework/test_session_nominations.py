"""Nominations of several plugins are merged into one list (semantics R12.6, R12.64, R12.65, R12.81)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest
from tenure.solver.actions.requeue import REQUEUE
from tenure.solver.framework.session import Session
from tenure.solver.model.requeue import Nomination, NominationResult, NominationSkipReason
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN
from tenure.solver.testing import ClusterBuilder

NOMINATED: Final = NominationResult.NO_CONTENDER
SKIPPED: Final = NominationResult.SKIPPED


def nominator(*nominations: tuple[int, NominationResult, int]) -> Any:
    """A plugin that returns these nominations: pod group index, result, overrun."""

    class Nominator:
        def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
            pass

        def nominate(self, action: Action) -> Iterator[Nomination]:
            for pod_group, result, overrun in nominations:
                yield Nomination(pod_group, result, overrun=overrun)

    return Nominator


def collect_nominations(**plugins: Any) -> list[tuple[int, str, str, int]]:
    cluster = ClusterBuilder().queue("q").pending("a", queue="q").pending("b", queue="q").build()
    profile = Profile((), tuple(PluginConfig(name) for name in plugins))
    registry = Registry(actions=BUILT_IN.actions, plugins=plugins)
    found, _ = Session.open(cluster, profile, registry).chains.nominations(REQUEUE)
    return [(n.pod_group, n.result.name, ",".join(n.nominated_by), n.overrun) for n in found]


ROWS: Final = {
    "nobody": ({"x": nominator()}, []),
    "two plugins, one pod group: one entry with both": (
        {"x": nominator((0, NOMINATED, 5)), "y": nominator((0, NOMINATED, 7))},
        [(0, "NO_CONTENDER", "x,y", 7)],
    ),
    "two plugins, two pod groups: two entries, in the order of the plugins": (
        {"x": nominator((1, NOMINATED, 5)), "y": nominator((0, NOMINATED, 7))},
        [(1, "NO_CONTENDER", "x", 5), (0, "NO_CONTENDER", "y", 7)],
    ),
    "one skips, the other nominates: nominated by the other": (
        {"x": nominator((0, SKIPPED, 0)), "y": nominator((0, NOMINATED, 7))},
        [(0, "NO_CONTENDER", "y", 7)],
    ),
    "the other way round": (
        {"x": nominator((0, NOMINATED, 7)), "y": nominator((0, SKIPPED, 0))},
        [(0, "NO_CONTENDER", "x", 7)],
    ),
    "both skip: both looked at it": (
        {"x": nominator((0, SKIPPED, 0)), "y": nominator((0, SKIPPED, 0))},
        [(0, "SKIPPED", "x,y", 0)],
    ),
}


@pytest.mark.parametrize(("plugins", "expected"), ROWS.values(), ids=ROWS)
def test_pod_group_appears_once_with_all_its_nominators(
    plugins: dict[str, Any], expected: list[tuple[int, str, str, int]]
) -> None:
    assert collect_nominations(**plugins) == expected


def test_names_of_skip_reasons_are_those_of_the_metric_label() -> None:
    assert {reason.name.lower() for reason in NominationSkipReason} == {
        "cooldown",
        "missing_start",
        "invalid_duration",
        "not_running",
        "not_preemptible",
        "minruntime_protected",
        "clock_skew",
        "invalid_not_before",
    }
