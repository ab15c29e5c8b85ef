"""The default profile, and the errors of invalid profiles."""

from dataclasses import replace

import pytest
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import BUILT_IN, check_profile, default_profile, with_required_plugins

DEFAULT = default_profile()


def with_plugin(name: str, **arguments: str) -> Profile:
    return replace(DEFAULT, plugins=(PluginConfig(name, arguments),))


PROBLEMS = {
    "an unknown action": (
        replace(DEFAULT, actions=("allocate", "grow")),
        "actions[1]",
        "unknown action 'grow'",
    ),
    "an unknown plugin": (with_plugin("wizard"), "plugins[0].name", "unknown plugin 'wizard'; known: "),
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
    "two plugins that choose nodes": (
        Profile((), (PluginConfig("fragmentation"), PluginConfig("gpusharingorder"))),
        "plugins[1].name",
        "gpusharingorder is replaced by fragmentation",
    ),
    "a bad number": (with_plugin("proportion", kValue="much"), "plugins[0].arguments.kValue", "much"),
}


@pytest.mark.parametrize(("profile", "path", "problem"), PROBLEMS.values(), ids=PROBLEMS)
def test_problems_have_path_and_fix(profile: Profile, path: str, problem: str) -> None:
    ((found_path, found),) = check_profile(profile)
    assert found_path == path
    assert problem in found


def test_every_problem_is_listed() -> None:
    profile = Profile(("grow", "shrink"), (PluginConfig("magic"),))
    assert [path for path, _ in check_profile(profile)] == ["actions[0]", "actions[1]", "plugins[0].name"]


def test_default_profile_is_valid_and_in_the_order_of_the_reference_r2_1() -> None:
    assert check_profile(DEFAULT) == []
    on_request = ("reservation", "timelimit")
    assert DEFAULT.actions == tuple([name for name in BUILT_IN.actions if name not in on_request])
    order = [name for name in DEFAULT.actions if name != "requeue"]
    assert order == ["allocate", "consolidation", "reclaim", "preempt", "stalegangeviction"]


def test_preemptibility_is_enforced_by_every_configuration() -> None:
    assert with_required_plugins(Profile((), ())).plugins == (PluginConfig("preemptibility"),)


def test_features_of_the_service_are_accepted_and_not_instantiated() -> None:
    profile = with_plugin("snapshot")
    assert check_profile(profile) == []
    assert "snapshot" not in [setting.name for setting in with_required_plugins(profile).plugins]
