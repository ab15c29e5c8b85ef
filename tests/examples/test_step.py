"""A step of another package, written with the plugin API alone, takes part in every cycle."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from tenure.solver.model.placement import TaskStatus
from tenure.solver.plugin_api import (
    SECOND,
    ActionContext,
    Idle,
    PluginConfig,
    PluginContext,
    Profile,
    Registry,
    Step,
    StepStart,
)
from tenure.solver.testing import (
    BUILT_IN,
    DEFAULT_PLUGINS,
    NOW,
    ClusterBuilder,
    answer,
    check_plugin,
    statuses,
)

PAGE: Final = Path(__file__).parents[2] / "docs/extend/plugins.md"
SHIFT: Final = 12 * 3_600 * SECOND
NOON: Final = NOW // SHIFT * SHIFT


def shifts() -> Any:
    """The plugin of the page."""
    (source,) = re.findall(r"```python\n(.*?)```", PAGE.read_text().split("## Arguments\n")[0], re.DOTALL)
    module: dict[str, Any] = {}
    exec(source, module)
    return module["Shifts"]


def profile_of(plugin: Any) -> tuple[Profile, Registry]:
    """A profile with the plugin after the default ones, and the registry that has it."""
    plugins = tuple(map(PluginConfig, (*DEFAULT_PLUGINS, "added")))
    registry = Registry(actions=BUILT_IN.actions, plugins={**BUILT_IN.plugins, "added": plugin})
    return Profile(("allocate",), plugins), registry


@pytest.mark.parametrize(("hour", "first"), [(NOON, "small"), (NOON - SHIFT, "large")])
def test_step_of_the_page_wakes_the_caller_when_the_order_changes(hour: int, first: str) -> None:
    builder = ClusterBuilder().node("n", gpus=2).queue("q", quota=4)
    builder.pending("small", queue="q", gpus=1).pending("large", queue="q", gpus=1, count=2)
    cluster = replace(builder.build(), now=hour + SECOND)
    profile, registry = profile_of(shifts())
    result = answer(cluster, profile, registry=registry)
    bound = {uid for uid, pod in statuses(cluster, result).items() if pod.status is TaskStatus.BINDING}
    assert {uid.rpartition("-")[0] for uid in bound} == {first}
    assert result.next_wake_time == hour + SHIFT


def test_plugin_of_the_page_has_no_problems() -> None:
    assert check_plugin(shifts()) == []


def test_functions_are_called_around_the_actions_with_one_context() -> None:
    seen: list[tuple[str, int, ActionContext]] = []

    def note(function: str, context: ActionContext) -> None:
        placements = [context.ledger.placement(task.index) for task in context.cluster.tasks]
        seen.append((function, sum(each.status is TaskStatus.BINDING for each in placements), context))

    def begin(start: StepStart) -> None:
        note("begin", start.context)

    def run(context: ActionContext) -> None:
        note("run", context)

    def end(context: ActionContext) -> None:
        note("end", context)

    class Noting:
        STEP = Step("noting", begin, run, end)

        def __call__(self, context: PluginContext, arguments: object) -> Idle:
            return Idle()

    cluster = ClusterBuilder().node("n", gpus=1).queue("q", quota=1).pending("a", queue="q", gpus=1).build()
    profile, registry = profile_of(Noting())
    answer(cluster, profile, registry=registry)
    assert [(function, bound) for function, bound, _ in seen[:3]] == [("begin", 0), ("run", 0), ("end", 1)]
    assert len({id(context) for _, _, context in seen[:3]}) == 1
