"""The configuration file: existing scheduler configurations work, and every fault is named by its path."""

from dataclasses import fields
from pathlib import Path

import pytest
from tenure.server.digest import profile_digest
from tenure.server.settings import ConfigurationError, load_settings
from tenure.server.settings.models import CycleOptions
from tenure.solver.framework.profile import Options, PluginSetting, Profile
from tenure.solver.model.duration import SECOND
from tenure.solver.registry import default_profile

EXISTING = """
actions: "allocate, reclaim"
tiers:
- plugins:
  - name: priority
  # - name: elastic
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
            PluginSetting("priority", {}),
            PluginSetting(
                "minruntime",
                {
                    "defaultPreemptMinRuntime": "10m",
                    "defaultReclaimMinRuntime": "1w2d",
                    "reclaimResolveMethod": "lca",
                },
            ),
            PluginSetting("proportion", {}),
        ),
    )


def test_actions_may_be_a_list(file: Path) -> None:
    file.write_text("actions: [preempt, allocate]")
    assert load_settings(file).profile.actions == ("preempt", "allocate")


@pytest.mark.parametrize("content", ["", "# nothing\n", "options:\nserver:\n", "{}"])
def test_what_is_absent_is_as_in_the_default_profile(file: Path, content: str) -> None:
    file.write_text(content)
    assert load_settings(file) == load_settings(None)


def test_options_and_limits(file: Path) -> None:
    file.write_text(
        "options: {maxConsolidationVictims: -1, consolidatingReclaim: false, skipSimilar: off, "
        "stalenessGrace: 1h30m, prune: no, "
        "maxSimulationsPerPodGroup: 5, maxSimulationsPerAction: 6}\n"
        "server: {maxMessageMib: 1, maxWaitingCalls: 2, drainTimeout: 3s}\n"
    )
    settings = load_settings(file)
    assert settings.profile.options == Options(
        max_consolidation_victims=-1,
        consolidating_reclaim=False,
        skip_similar=False,
        staleness_grace=5400 * SECOND,
        prune=False,
        max_simulations_per_pod_group=5,
        max_simulations_per_action=6,
    )
    limits = settings.limits
    assert (limits.max_message_mib, limits.max_waiting_calls, limits.drain_timeout) == (1, 2, 3 * SECOND)


def test_every_option_of_a_cycle_can_be_configured() -> None:
    assert list(CycleOptions.model_fields) == [field.name for field in fields(Options)]


def test_staleness_grace_may_be_without_end(file: Path) -> None:
    file.write_text("options: {stalenessGrace: never}")
    assert load_settings(file).profile.options.staleness_grace == -1


def test_argument_values_are_text_as_written(file: Path) -> None:
    file.write_text("tiers: [{plugins: [{name: nodeplacement, arguments: {gpu: 'spread', cpu: binpack}}]}]")
    assert load_settings(file).profile.plugins[0].arguments == {"gpu": "spread", "cpu": "binpack"}


PLUGINS = "tiers[0].plugins"
FAULTS = {
    "queueDepthPerAction: {x: 3}": "queueDepthPerAction: unknown key; known: actions, options, records, "
    "server, telemetry, tiers",
    "tier: []": "tier: unknown key; did you mean tiers?",
    "tiers: [{plugins: [], plugin: []}]": "tiers[0].plugin: unknown key; did you mean plugins?",
    "tiers: [{plugins: [{name: x, argument: {}}]}]": f"{PLUGINS}[0].argument: unknown key; did you mean",
    "tiers: [{}]": f"{PLUGINS}: Field required",
    "options: {stalenesGrace: 1s}": "options.stalenesGrace: unknown key; did you mean stalenessGrace?",
    "options: {stalenessGrace: 10}": "options.stalenessGrace: '10' is not a duration: write it like 30s, ",
    "options: {stalenessGrace: -1s}": "options.stalenessGrace: '-1s' is not a duration: write it like 30s, ",
    "options: {skipSimilar: maybe}": "options.skipSimilar: Input should be a valid boolean",
    "server: {drainTimeout: [1s]}": "server.drainTimeout: must be a duration like 30s, 1h30m or 2d",
    "server: {maxMessageMib: 0}": "server.maxMessageMib: Input should be greater than or equal to 1",
    "actions: allocate, reclam": "actions[1]: unknown action 'reclam'; known: allocate, ",
    "actions: []": "actions: Value should have at least 1 item",
    "tiers: [{plugins: [{name: elastic}, {name: x}]}]": f"{PLUGINS}[1].name: unknown plugin 'x'; known: ",
    "tiers: [{plugins: []}, {plugins: [{name: minruntime, arguments: {defaultReclaimMinRuntime: 10}}]}]": (
        "tiers[1].plugins[0].arguments.defaultReclaimMinRuntime: '10' is not a duration"
    ),
    "tiers: [{plugins: [{name: minruntime, arguments: {resolve: lca}}]}]": (
        f"{PLUGINS}[0].arguments.resolve: plugin minruntime has no argument 'resolve'; known: "
    ),
    "tiers: [{plugins: [{name: elastic}]}, {plugins: [{name: elastic}]}]": (
        f"tiers[1].plugins[0].name: plugin elastic is already listed at {PLUGINS}[0]"
    ),
    "a: 1\nactions: [allocate\n": "line 3, column 1: expected ',' or ']'",
    "actions: allocate\nactions: reclaim": "line 2, column 1: the key 'actions' occurs twice",
    "- allocate": "must be a mapping with keys such as `actions`",
    "\x00": "is not YAML: unacceptable character",
    "[" * 100_000: "is not YAML: maximum recursion depth exceeded",
    "x" * (2**20 + 1): "is larger than 1,048,576 bytes",
}


@pytest.mark.parametrize("content", FAULTS, ids=lambda content: content[:60])
def test_fault_is_named_with_its_path(file: Path, content: str) -> None:
    (fault,) = faults(file, content)
    assert fault.startswith(FAULTS[content])


def test_file_that_is_no_text_is_refused(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="is not YAML"):
        load_settings(file)


def test_all_faults_of_a_file_are_named_at_once(file: Path) -> None:
    found = faults(file, "x: 1\noptions: {y: 1, stalenessGrace: z}\nserver: {maxWaitingCalls: 0}")
    assert [fault.partition(":")[0] for fault in found] == [
        "options.stalenessGrace",
        "options.y",
        "server.maxWaitingCalls",
        "x",
    ]


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere\.yaml: cannot be read: No such file"):
        load_settings(tmp_path / "nowhere.yaml")


def test_digest_depends_on_what_changes_decisions() -> None:
    profile = Profile(("allocate",), (PluginSetting("a", {"x": "1", "y": "2"}), PluginSetting("b")))
    same = Profile(("allocate",), (PluginSetting("a", {"y": "2", "x": "1"}), PluginSetting("b")))
    others = [
        Profile(("reclaim",), profile.plugins),
        Profile(profile.actions, profile.plugins[::-1]),
        Profile(profile.actions, (PluginSetting("a", {"x": "1", "y": "3"}), PluginSetting("b"))),
        Profile(profile.actions, profile.plugins, Options(skip_similar=False)),
    ]
    assert profile_digest(profile) == profile_digest(same)
    assert len({profile_digest(p) for p in (profile, *others)}) == 5


def test_the_page_tells_every_option_with_its_default(tmp_path: Path) -> None:
    """The table of the page, read as a configuration file, gives the default options."""
    page = Path("docs/configuration.md").read_text()
    table = page.partition("\n## Options\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    told = {name.strip(" `"): default.strip() for name, default in rows}
    assert told.keys() == {field.alias for field in CycleOptions.model_fields.values()}
    file = tmp_path / "options.yaml"
    file.write_text("options:\n" + "".join(f"  {name}: {default}\n" for name, default in told.items()))
    assert load_settings(file).profile.options == Options()
