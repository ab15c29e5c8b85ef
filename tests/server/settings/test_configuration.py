"""The configuration file: existing scheduler configurations load, and every error has its path."""

from dataclasses import fields
from pathlib import Path

import pytest
from tenure.server.settings import ConfigurationError, load_settings
from tenure.server.settings.configuration import OptionsSection
from tenure.solver.plugin_api.profile import SPEEDUPS, CycleOptions, PluginConfig, Profile, profile_digest
from tenure.solver.registry import default_profile
from tenure.terms.durations import SECOND

EXISTING = """
actions: "allocate, reclaim"
tiers:
- plugins:
  - name: predicates
  - name: priority
  # - name: kubeflow
  - name: elastic
  - name: dynamicresources
  - name: topology
  - name: minruntime
    arguments:
      defaultPreemptMinRuntime: "10m"
      defaultReclaimMinRuntime: 1w2d
      reclaimResolveMethod: "lca"  # or "queue"
- plugins:
  - name: proportion
    arguments:
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "scheduler.yaml"


def faults(file: Path, content: str) -> list[str]:
    file.write_text(content)
    with pytest.raises(ConfigurationError) as caught:
        load_settings(file)
    lines = str(caught.value).splitlines()
    assert all(line.startswith(f"{file}: ") for line in lines)
    return [line.removeprefix(f"{file}: ") for line in lines]


def test_without_a_file_the_embedded_profile_is_used() -> None:
    settings = load_settings(None)
    assert settings.profile == default_profile()
    assert settings.limits.max_message_mib == 64


def test_existing_scheduler_configuration_works_unchanged(file: Path) -> None:
    file.write_text(EXISTING)
    assert load_settings(file).profile == Profile(
        ("allocate", "reclaim"),
        (
            *map(PluginConfig, ("predicates", "priority", "elastic", "dynamicresources", "topology")),
            PluginConfig(
                "minruntime",
                {
                    "defaultPreemptMinRuntime": "10m",
                    "defaultReclaimMinRuntime": "1w2d",
                    "reclaimResolveMethod": "lca",
                },
            ),
            PluginConfig("proportion", {}),
        ),
    )


def test_actions_can_be_a_list(file: Path) -> None:
    file.write_text("actions: [preempt, allocate]")
    assert load_settings(file).profile.actions == ("preempt", "allocate")


@pytest.mark.parametrize("content", ["", "# nothing\n", "options:\nserver:\n", "{}"])
def test_absent_settings_have_the_values_of_the_default_profile(file: Path, content: str) -> None:
    file.write_text(content)
    assert load_settings(file) == load_settings(None)


def test_options_and_limits(file: Path) -> None:
    file.write_text(
        "options: {maxConsolidationVictims: -1, allowConsolidatingReclaim: false, skipSimilarPodGroups: off, "
        "stalenessGracePeriod: 1h30m, speedups: none, fillBack: inPlace, maxFillBackSimulations: 7, "
        "victimAlternatives: 2, maxSimulationsPerPodGroup: 5, maxSimulationsPerAction: 6}\n"
        "server: {maxMessageMib: 1, maxQueuedCalls: 2, drainTimeout: 3s}\n"
    )
    settings = load_settings(file)
    assert settings.profile.options == CycleOptions(
        max_consolidation_victims=-1,
        allow_consolidating_reclaim=False,
        skip_similar_pod_groups=False,
        staleness_grace_period=5400 * SECOND,
        speedups=(),
        fill_back="inPlace",
        max_fill_back_simulations=7,
        victim_alternatives=2,
        max_simulations_per_pod_group=5,
        max_simulations_per_action=6,
    )
    limits = settings.limits
    assert (limits.max_message_mib, limits.max_queued_calls, limits.drain_timeout) == (1, 2, 3 * SECOND)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("all", SPEEDUPS),
        ("none", ()),
        ("[]", ()),
        ("pruning", ("pruning",)),
        ("'pruning, node_index'", ("pruning", "node_index")),
        ("[pruning, node_index]", ("pruning", "node_index")),
    ],
)
def test_speedups_can_be_listed(file: Path, text: str, names: tuple[str, ...]) -> None:
    file.write_text(f"options: {{speedups: {text}}}")
    assert load_settings(file).profile.options.speedups == names


def test_every_option_of_a_cycle_can_be_configured() -> None:
    assert list(OptionsSection.model_fields) == [field.name for field in fields(CycleOptions)]


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    {
        ".5h": 1800 * SECOND,
        "+1h": 3600 * SECOND,
        "1.h": 3600 * SECOND,
        "5\u00b5s": 5000,
        "5\u03bcs": 5000,
        "1d12h": 129_600 * SECOND,
    }.items(),
)
def test_duration_is_written_as_in_go_or_with_days(file: Path, text: str, nanoseconds: int) -> None:
    file.write_text(f"options: {{stalenessGracePeriod: {text}}}")
    assert load_settings(file).profile.options.staleness_grace_period == nanoseconds


def test_staleness_grace_can_be_unlimited(file: Path) -> None:
    file.write_text("options: {stalenessGracePeriod: never}")
    assert load_settings(file).profile.options.staleness_grace_period == -1


def test_argument_values_are_text_as_written(file: Path) -> None:
    file.write_text("plugins: {nodeplacement: {gpu: 'spread', cpu: binpack}}")
    arguments = {plugin.name: plugin.arguments for plugin in load_settings(file).profile.plugins}
    assert arguments["nodeplacement"] == {"gpu": "spread", "cpu": "binpack"}


PLUGINS = "tiers[0].plugins"
FAULTS = {
    "queueDepthPerAction: {x: 3}": "queueDepthPerAction: unknown key; known: actions, "
    "allowMissingPlugins, options, plugins, records, server, telemetry, tiers",
    "tier: []": "tier: unknown key; did you mean tiers?",
    "tiers: [{plugins: [], plugin: []}]": "tiers[0].plugin: unknown key; did you mean plugins?",
    "tiers: [{plugins: [{name: x, argument: {}}]}]": f"{PLUGINS}[0].argument: unknown key; did you mean",
    "tiers: [{}]": f"{PLUGINS}: is required",
    "options: {stalenesGracePeriod: 1s}": (
        "options.stalenesGracePeriod: unknown key; did you mean stalenessGracePeriod?"
    ),
    "options: {stalenessGracePeriod: 10}": (
        "options.stalenessGracePeriod: '10' is not a duration: write it like 30s, "
    ),
    "options: {stalenessGracePeriod: -1s}": (
        "options.stalenessGracePeriod: '-1s' is not a duration of zero or more: "
    ),
    "options: {skipSimilarPodGroups: maybe}": "options.skipSimilarPodGroups: must be true or false",
    "server: {drainTimeout: [1s]}": "server.drainTimeout: must be a duration such as 30s, 1h30m or 2d",
    "server: {maxMessageMib: 0}": "server.maxMessageMib: must be at least 1",
    "actions: allocate, reclam": "actions[1]: unknown action 'reclam'; did you mean reclaim?",
    "actions: x": "actions[0]: unknown action 'x'; known: timelimit, allocate, ",
    "options: {speedups: 'pruning, x'}": "options.speedups[1]: unknown speedup 'x'; known: all, none, ",
    "options: {speedups: [none, pruning]}": "options.speedups[0]: unknown speedup 'none'; known: all, none, ",
    "actions: []": "actions: must not be empty",
    "a: 1\nactions: [allocate\n": "line 3, column 1: expected ',' or ']'",
    "actions: allocate\nactions: reclaim": "line 2, column 1: the key 'actions' occurs twice",
    "- allocate": "must be a mapping with keys such as `actions`",
    "\x00": "is not YAML: unacceptable character",
    "[" * 100_000: "line 1, column 201: nested too deeply",
    "x" * (2**20 + 1): "is larger than 1,048,576 bytes",
}


@pytest.mark.parametrize("content", FAULTS, ids=lambda content: content[:60])
def test_error_has_its_path(file: Path, content: str) -> None:
    (fault,) = faults(file, content)
    assert fault.startswith(FAULTS[content])


def test_file_that_is_not_text_is_rejected(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="is not YAML"):
        load_settings(file)


def test_all_errors_of_a_file_are_listed(file: Path) -> None:
    found = faults(file, "x: 1\noptions: {y: 1, stalenessGracePeriod: z}\nserver: {maxQueuedCalls: 0}")
    assert [fault.partition(":")[0] for fault in found] == [
        "options.stalenessGracePeriod",
        "options.y",
        "server.maxQueuedCalls",
        "x",
    ]


def test_profile_is_checked_without_the_keys_that_are_at_fault(file: Path) -> None:
    text = "actions: allocate, premept\noptons: {}\noptions: {x: 1}\nplugins: {minruntime: {y: 5m}}"
    assert [fault.partition(":")[0] for fault in faults(file, text)] == [
        *("options.x", "optons", "actions[1]", "plugins.minruntime.y"),
    ]


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere\.yaml: cannot be read: No such file"):
        load_settings(tmp_path / "nowhere.yaml")


def test_digest_depends_only_on_settings_that_change_decisions() -> None:
    profile = Profile(("allocate",), (PluginConfig("a", {"x": "1", "y": "2"}), PluginConfig("b")))
    same = Profile(("allocate",), (PluginConfig("a", {"y": "2", "x": "1"}), PluginConfig("b")))
    others = [
        Profile(("reclaim",), profile.plugins),
        Profile(profile.actions, profile.plugins[::-1]),
        Profile(profile.actions, (PluginConfig("a", {"x": "1", "y": "3"}), PluginConfig("b"))),
        Profile(profile.actions, profile.plugins, CycleOptions(skip_similar_pod_groups=False)),
    ]
    assert profile_digest(profile) == profile_digest(same)
    assert len({profile_digest(p) for p in (profile, *others)}) == 5
