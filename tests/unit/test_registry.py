"""The default profile, and what is said about a profile that cannot be."""

from dataclasses import replace

import pytest
from tenure.solver.framework.profile import PluginSetting, Profile
from tenure.solver.registry import ACTION_NAMES, check_profile, default_profile, opened

DEFAULT = default_profile()


def with_plugin(name: str, **arguments: str) -> Profile:
    return replace(DEFAULT, plugins=(PluginSetting(name, arguments),))


PROBLEMS = {
    "an unknown action": (
        replace(DEFAULT, actions=("allocate", "grow")),
        "actions[1]",
        "unknown action 'grow'",
    ),
    "an unknown plugin": (with_plugin("magic"), "plugins[0].name", "unknown plugin 'magic'; known: "),
    "an unknown argument": (
        with_plugin("minruntime", defaultMinRuntime="5m"),
        "plugins[0].arguments.defaultMinRuntime",
        "known: defaultPreemptMinRuntime, defaultReclaimMinRuntime, reclaimResolveMethod",
    ),
    "a plugin without arguments": (
        with_plugin("priority", level="1"),
        "plugins[0].arguments.level",
        "known: none",
    ),
    "a bad duration": (
        with_plugin("minruntime", defaultPreemptMinRuntime="5"),
        "plugins[0].arguments.defaultPreemptMinRuntime",
        "'5' is not a duration",
    ),
    "a negative duration": (
        with_plugin("minruntime", defaultReclaimMinRuntime="-5m"),
        "plugins[0].arguments.defaultReclaimMinRuntime",
        "'-5m' is not a duration",
    ),
    "a bad choice": (
        with_plugin("minruntime", reclaimResolveMethod="LCA"),
        "plugins[0].arguments.reclaimResolveMethod",
        "use lca or queue",
    ),
    "a bad strategy": (
        with_plugin("nodeplacement", gpu="pile"),
        "plugins[0].arguments.gpu",
        "binpack or spread",
    ),
    "a bad number": (with_plugin("proportion", kValue="much"), "plugins[0].arguments.kValue", "much"),
}


@pytest.mark.parametrize(("profile", "path", "problem"), PROBLEMS.values(), ids=PROBLEMS)
def test_problems_name_the_place_and_the_fix(profile: Profile, path: str, problem: str) -> None:
    ((found_path, found),) = check_profile(profile)
    assert found_path == path
    assert problem in found


def test_every_problem_is_listed() -> None:
    profile = Profile(("grow", "shrink"), (PluginSetting("magic"),))
    assert [path for path, _ in check_profile(profile)] == ["actions[0]", "actions[1]", "plugins[0].name"]


def test_the_default_profile_is_sound_and_runs_in_the_order_of_the_reference_r2_1() -> None:
    assert check_profile(DEFAULT) == []
    assert DEFAULT.actions == ACTION_NAMES
    order = [name for name in ACTION_NAMES if name != "requeue"]
    assert order == ["allocate", "consolidation", "reclaim", "preempt", "stalegangeviction"]


def test_non_preemptible_pod_groups_are_safe_whatever_the_configuration() -> None:
    assert opened(Profile((), ())).plugins == (PluginSetting("preemptibility"),)


def test_features_of_the_service_are_known_and_not_opened() -> None:
    profile = with_plugin("snapshot")
    assert check_profile(profile) == []
    assert "snapshot" not in [setting.name for setting in opened(profile).plugins]
