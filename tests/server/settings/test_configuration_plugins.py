"""Plugins in the configuration file: complete lists, changes of the default list, and what safety needs."""

from pathlib import Path

import pytest
from tenure.server.settings import ConfigurationError, load_settings
from tenure.solver.plugin_api.profile import PluginConfig
from tenure.solver.registry import DEFAULT_PLUGINS, SAFETY_PLUGINS, default_profile

COMPLETE = "tiers: [{plugins: [" + "".join(f"{{name: {name}}}, " for name in SAFETY_PLUGINS)
"""A list of what safety needs, without its end."""


def load(tmp_path: Path, text: str) -> tuple[PluginConfig, ...]:
    file = tmp_path / "tenure.yaml"
    file.write_text(text)
    return load_settings(file).profile.plugins


def errors(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path, text)
    return [str(problem) for problem in caught.value.problems]


def test_a_complete_list_replaces_the_default_list(tmp_path: Path) -> None:
    assert load(tmp_path, COMPLETE + "]}, {plugins: [{name: numa}]}]") == (
        *map(PluginConfig, SAFETY_PLUGINS),
        PluginConfig("numa"),
    )


@pytest.mark.parametrize("name", SAFETY_PLUGINS)
def test_a_complete_list_without_a_plugin_that_safety_needs_is_rejected(name: str, tmp_path: Path) -> None:
    text = (COMPLETE + "]}]").replace(f"{{name: {name}}}, ", "")
    (error,) = errors(tmp_path, text)
    assert error.startswith(
        f"tiers: is the complete list of plugins and omits {name} (without {name}, {SAFETY_PLUGINS[name]}). "
    )
    assert error.endswith(f"if this is intended, set allowMissingPlugins: [{name}]")
    listed = load(tmp_path, f"{text}\nallowMissingPlugins: [{name}]")
    assert {plugin.name for plugin in listed} == SAFETY_PLUGINS.keys() - {name}


def test_a_list_of_one_plugin_is_rejected_with_all_that_it_omits(tmp_path: Path) -> None:
    (error,) = errors(tmp_path, "tiers: [{plugins: [{name: minruntime}]}]")
    assert "omits predicates, proportion, priority, elastic, dynamicresources, topology (" in error
    assert "change single plugins with `plugins` instead of `tiers`" in error


def test_what_safety_needs_is_on_by_default() -> None:
    assert SAFETY_PLUGINS.keys() <= set(DEFAULT_PLUGINS)


def test_changes_keep_the_rest_of_the_default_list(tmp_path: Path) -> None:
    found = load(tmp_path, "plugins: {minruntime: {defaultReclaimMinRuntime: 10m}, numa: false}")
    assert found == tuple(
        PluginConfig(name, {"defaultReclaimMinRuntime": "10m"} if name == "minruntime" else {})
        for name in DEFAULT_PLUGINS
    )


@pytest.mark.parametrize("value", ["{}", "true", "on", ""])
def test_a_plugin_is_enabled_at_its_fixed_place(value: str, tmp_path: Path) -> None:
    found = [each.name for each in load(tmp_path, f"plugins:\n  numa: {value}\n  evictionlimit: {value}")]
    assert found.index("evictionlimit") == found.index("evictionbackoff") + 1
    assert found.index("numa") == found.index("topology") + 1
    assert set(found) == {*DEFAULT_PLUGINS, "numa", "evictionlimit"}


@pytest.mark.parametrize("value", ["false", "off"])
def test_a_plugin_is_disabled_even_if_safety_needs_it(value: str, tmp_path: Path) -> None:
    found = [each.name for each in load(tmp_path, f"plugins: {{topology: {value}, gpupack: {value}}}")]
    assert found == [name for name in DEFAULT_PLUGINS if name not in ("topology", "gpupack")]


def test_empty_changes_change_nothing(tmp_path: Path) -> None:
    assert load(tmp_path, "plugins:") == default_profile().plugins


ERRORS = {
    COMPLETE + "{name: x}]}]": "tiers[0].plugins[7].name: unknown plugin 'x'; known: ",
    COMPLETE + "]}, {plugins: [{name: nearcompletion, arguments: {window: 10}}]}]": (
        "tiers[1].plugins[0].arguments.window: '10' is not a duration"
    ),
    COMPLETE + "{name: nodeplacement, arguments: {disk: spread}}]}]": (
        "tiers[0].plugins[7].arguments.disk: plugin nodeplacement has no argument 'disk'; known: gpu, cpu"
    ),
    COMPLETE + "]}, {plugins: [{name: elastic}]}]": (
        "tiers[1].plugins[0].name: plugin elastic is already listed at tiers[0].plugins[3]"
    ),
    COMPLETE + "]}]\nallowMissingPlugins: [numa]": (
        "allowMissingPlugins[0]: 'numa' is no plugin that safety needs: remove it; known: predicates, "
    ),
    COMPLETE + "]}]\nallowMissingPlugins: [topology]": (
        "allowMissingPlugins[0]: topology is listed at tiers[0].plugins[6]: remove it here or there"
    ),
    COMPLETE + "]}]\nplugins: {numa: true}": (
        "plugins: cannot be used with `tiers`, which is the complete list: use one of the two"
    ),
    "plugins: {topology: false}\nallowMissingPlugins: [topology]": (
        "allowMissingPlugins: requires `tiers`: write `plugins: {NAME: false}`"
    ),
    "plugins: {topolgy: {}}": "plugins.topolgy: unknown plugin 'topolgy'; did you mean topology?",
    "plugins: {x: {}}": "plugins.x: unknown plugin 'x'; known: aging, dynamicresources, elastic, ",
    "plugins: {topolgy: false}": "plugins.topolgy: unknown plugin 'topolgy'; did you mean topology?",
    "plugins: {preemptibility: false}": "plugins.preemptibility: is always on: remove it",
    "plugins: {minruntime: {resolve: lca}}": (
        "plugins.minruntime.resolve: plugin minruntime has no argument 'resolve'; known: "
    ),
    "plugins: {minruntime: {defaultReclaimMinRuntime: 10}}": (
        "plugins.minruntime.defaultReclaimMinRuntime: '10' is not a duration: write it like 30s, 1h30m or 2d"
    ),
    "plugins: {minruntime: {arguments: {resolve: lca}}}": (
        "plugins.minruntime: write the arguments without the key `arguments`, such as {window: 10m}"
    ),
    "plugins: {minruntime: 10m}": "plugins.minruntime: must be true, false, or a mapping of arguments",
    "plugins: {nodeplacement: {gpu: [spread]}}": "plugins.nodeplacement.gpu: must be text",
    "plugins: [minruntime]": "plugins: must be a mapping",
}


@pytest.mark.parametrize("text", ERRORS, ids=lambda text: text.removeprefix(COMPLETE)[:60])
def test_error_has_its_path_and_fix(text: str, tmp_path: Path) -> None:
    (error,) = errors(tmp_path, text)
    assert error.startswith(ERRORS[text])
