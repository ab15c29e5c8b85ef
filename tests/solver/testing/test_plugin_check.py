"""`check_plugin` accepts valid plugins and reports wrong signatures, impure results and wrong traits."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, Final, cast

import pytest
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.solver.model.workload import Counts
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.step import Step
from tenure.solver.plugin_api.traits import Expiry, SameFor, Traits, Validity
from tenure.solver.registry import BUILT_IN
from tenure.solver.testing import check_plugin
from tenure.terms.custom_reason import CustomReason
from tenure.terms.reasons import ReasonCode

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


def test_plugin_with_a_step_alone_has_no_problems() -> None:
    made = type("Waker", (NoPlugin,), {"STEP": Step("wake", end=lambda context: context.wake_at(1))})
    assert check_plugin(made) == []


def test_guard_with_a_declared_reason_has_no_problems() -> None:
    assert check_plugin(guard_with_reason(KEPT, (KEPT,))) == []


@pytest.mark.parametrize("same_for", SameFor)
def test_guard_with_right_traits_has_no_problems(same_for: SameFor) -> None:
    made = guard_of(
        lambda context, preemptor, victim: GuardVerdict(NOTHING, "test"), Traits(verdicts=same_for)
    )
    assert check_plugin(made) == []


def plugin_with(**attributes: Any) -> Any:
    """A guard whose class has these attributes too."""
    base = guard_of(lambda *_: GuardVerdict(NOTHING, "test"), Traits())
    return type("Guard", (base,), attributes)


class GuardOfTheObject(NoPlugin):
    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self.guard = lambda action, preemptor, victim: GuardVerdict(NOTHING, "test")


def helper(*_: object) -> None:
    """A method of any name."""


MISNAMED: Final[Mapping[str, tuple[Any, str]]] = {
    "letters in another order": (
        plugin_with(gaurd=helper),
        "gaurd: it has no effect; did you mean guard(action, preemptor, victim)? "
        "Begin the name of a helper with _",
    ),
    "singular": (plugin_with(protection=helper), "did you mean protections(pod_groups)?"),
    "camel case": (plugin_with(podGroupKey=helper), "did you mean pod_group_key(pod_group, active)?"),
    "companion": (plugin_with(guard_cache_keys=helper), "did you mean guard_cache_key(preemptor)?"),
    "traits": (plugin_with(TRAIT=Traits()), "TRAIT: it has no effect; did you mean TRAITS?"),
    "steps": (plugin_with(STEPS=()), "STEPS: it has no effect; did you mean STEP?"),
    "arguments": (plugin_with(arguments={}), "arguments: it has no effect; did you mean ARGUMENTS?"),
    "a helper with the name of an extension point": (
        plugin_with(fits=lambda self: True),
        "fits(shape, node): too many positional arguments; "
        "NodeFilter has this method: accept its arguments, or rename the method",
    ),
    "an attribute with the name of an extension point": (
        plugin_with(zones=()),
        "zones: it is the method zones(task, node, soon) of NumaZoneSelector; rename the attribute",
    ),
    "a method of the object": (
        GuardOfTheObject,
        "guard: it is set on the object, where it has no effect; define it in the class",
    ),
}


@pytest.mark.parametrize(("plugin", "problem"), MISNAMED.values(), ids=MISNAMED)
def test_misnamed_methods_and_attributes_are_reported_with_the_fix(plugin: Any, problem: str) -> None:
    assert any(problem in each for each in check_plugin(plugin)), check_plugin(plugin)


@pytest.mark.parametrize("name", ["_gaurd", "is_protected", "queue_of", "summary"])
def test_helpers_have_no_problems(name: str) -> None:
    assert check_plugin(plugin_with(**{name: helper})) == []


KEPT: Final = CustomReason("QueueKept", "its queue is kept", "Its queue is kept.")
OTHER: Final = CustomReason("Other", "its queue is kept", "Its queue is kept.", base=ReasonCode.MIN_RUNTIME)


def guard_with_reason(custom: CustomReason, declared: Sequence[CustomReason]) -> Any:
    """A guard that declares some reasons and gives one."""
    made = guard_of(lambda *_: GuardVerdict(NOTHING, "test", custom=custom), Traits())
    return type("Guard", (made,), {"REASONS": declared})


WRONG: Final[Mapping[str, tuple[Any, str]]] = {
    "signature": (WrongSignature, "admits(action, pod_group, tasks): too many positional arguments"),
    "neither extension point nor step": (NoPlugin, "it implements no extension point, and has no step"),
    "a step that is none": (
        plugin_with(STEP=("wake", None)),
        "STEP: it is a value of tuple; write Step(name, begin=..., run=..., end=...)",
    ),
    "a step with a text for a function": (
        plugin_with(STEP=Step("wake", end=cast("Any", "wake"))),
        "STEP.end: it is no function; write one that accepts an ActionContext",
    ),
    "a beginning of a step without argument": (
        plugin_with(STEP=Step("wake", begin=cast("Any", lambda: None))),
        "STEP.begin: too many positional arguments; it is called with one argument, a StepStart",
    ),
    "a function of a step with the arguments of an action": (
        plugin_with(STEP=Step("wake", run=cast("Any", lambda context, action: None))),
        "STEP.run: missing a required argument: 'action'; it is called with one argument, an ActionContext",
    ),
    "a step that the factory does not have": (
        partial(plugin_with(STEP=Step("wake"))),
        "STEP: a cycle does not find it; set it on the factory",
    ),
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
    "a reason that is not declared": (
        guard_with_reason(KEPT, ()),
        "guard: QueueKept has no effect; list it in REASONS of the class",
    ),
    "a reason beside the code of another one": (
        guard_with_reason(OTHER, (OTHER,)),
        "guard: the code beside Other is PROTECTED; its base must be, too",
    ),
    "keys that depend on the time": (AgeOrder, "depends on the time"),
}


@pytest.mark.parametrize(("plugin", "problem"), WRONG.values(), ids=WRONG)
def test_wrong_plugin_is_reported(plugin: Any, problem: str) -> None:
    problems = check_plugin(plugin)
    assert problems
    assert any(problem in each for each in problems), problems
