"""`check_plugin` accepts valid plugins and reports wrong signatures, impure results and wrong traits."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, Final

import pytest
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.solver.model.workload import Counts
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.traits import Expiry, SameFor, Traits, Validity
from tenure.solver.registry import BUILT_IN
from tenure.solver.testing import check_plugin

CALLS: Final = count()
ALL, NOTHING = ProtectionScope.ALL, ProtectionScope.NOTHING


def guard_of(verdict: Callable[[PluginContext, int, int], GuardVerdict], declared: Traits) -> Any:
    """A guard with these verdicts and traits."""

    class Made:
        TRAITS = declared

        def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
            self._context = context

        def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict:
            return verdict(self._context, preemptor, victim)

        def guard_cache_key(self, preemptor: int) -> int:
            return preemptor % 2

        def may_expire(self, victims: Sequence[int]) -> bool:
            return False

    return Made


class WrongSignature:
    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        pass

    def admits(self, action: Action, pod_group: int) -> None:
        return None


class NoPlugin:
    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        pass


class AgeOrder:
    """Declares that its keys depend on facts only, but they depend on the time."""

    TRAITS = Traits(order_keys=Validity.FACTS)

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._context = context

    def pod_group_key(self, pod_group: int, active: Counts) -> int:
        return self._context.now


@pytest.mark.parametrize("name", BUILT_IN.plugins)
def test_built_in_plugins_have_no_problems(name: str) -> None:
    assert check_plugin(BUILT_IN.plugins[name]) == []


@pytest.mark.parametrize("same_for", SameFor)
def test_guard_with_right_traits_has_no_problems(same_for: SameFor) -> None:
    made = guard_of(
        lambda context, preemptor, victim: GuardVerdict(NOTHING, "test"), Traits(verdicts=same_for)
    )
    assert check_plugin(made) == []


WRONG: Final[Mapping[str, tuple[Any, str]]] = {
    "signature": (WrongSignature, "admits(action, pod_group, tasks): too many positional arguments"),
    "no extension point": (NoPlugin, "it implements no extension point"),
    "different results": (
        guard_of(lambda *_: GuardVerdict(NOTHING, str(next(CALLS))), Traits()),
        "results differ",
    ),
    "verdicts of the pair declared as equal for all": (
        guard_of(
            lambda context, preemptor, victim: GuardVerdict(NOTHING, f"{preemptor}"),
            Traits(verdicts=SameFor.ANY),
        ),
        "differs from that of another preemptor",
    ),
    "verdicts of the pair declared as equal by key": (
        guard_of(
            lambda context, preemptor, victim: GuardVerdict(NOTHING, f"{preemptor}"),
            Traits(verdicts=SameFor.KEY),
        ),
        "differs from that of another preemptor",
    ),
    "an end declared as impossible": (
        guard_of(lambda context, *_: GuardVerdict(ALL, "test", context.now + 1), Traits(expiry=Expiry.NEVER)),
        "protects until a time",
    ),
    "an end that may_expire denies": (
        guard_of(lambda context, *_: GuardVerdict(ALL, "test", context.now + 1), Traits(expiry=Expiry.CHECK)),
        "protects until a time",
    ),
    "keys that depend on the time": (AgeOrder, "depends on the time"),
}


@pytest.mark.parametrize(("plugin", "problem"), WRONG.values(), ids=WRONG)
def test_wrong_plugin_is_reported(plugin: Any, problem: str) -> None:
    problems = check_plugin(plugin)
    assert problems
    assert any(problem in each for each in problems), problems
