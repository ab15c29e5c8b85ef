"""The pages about guards and plugins: the profile loads, the tables are complete, the examples work."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tenure.server.settings import load_settings
from tenure.solver.framework.chains import POINTS
from tenure.solver.framework.session import Session
from tenure.solver.plugin_api import points, traits
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import ALWAYS_ON, BUILT_IN, DEFAULT_PLUGINS
from tenure.solver.testing import ClusterBuilder

from tests.e2e.command import ROOT, SAMPLE, run_command, run_tenure

REFERENCE = (ROOT / "docs/reference/guards.md").read_text()
GUIDE = (ROOT / "docs/extend/guards.md").read_text()
PLUGINS = (ROOT / "docs/extend/plugins.md").read_text()


def guards() -> dict[str, Any]:
    """Guard plugins of a session with all built-in plugins."""
    everything = Profile((), tuple(map(PluginConfig, BUILT_IN.plugins)))
    chains = Session.open(ClusterBuilder().build(), everything, BUILT_IN).chains
    return {chains.name(guard): BUILT_IN.plugins[chains.name(guard)] for guard in chains.guards}


GUARDS = guards()


def block(page: str, language: str) -> str:
    """Return the only code block of a language on a page."""
    (text,) = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
    return str(text)


def arguments_of(plugin: Any) -> dict[str, Any]:
    """Return the parsers of the arguments of a plugin."""
    return dict(getattr(plugin, "ARGUMENTS", {}))


def rows(heading: str, page: str = REFERENCE) -> list[list[str]]:
    """Return the cells of the first table under a heading, without its header."""
    table = re.search(r"(?:^\|.*\n)+", page.split(heading, 1)[1], re.MULTILINE)
    assert table, f"no table under {heading}"
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table[0].splitlines()[2:]]


def fill_down(cells: list[str]) -> list[str]:
    """Return a column with each empty cell replaced by the one above."""
    found: list[str] = []
    for cell in cells:
        found.append(cell.strip("`") or found[-1])
    return found


def test_list_names_every_guard_and_how_it_enters_a_profile() -> None:
    table = rows("# Guards\n")
    names, how = fill_down([row[0] for row in table]), {row[0].strip("`"): row[-1] for row in table if row[0]}
    assert set(names) == set(GUARDS)
    assert {name for name in how if how[name].startswith("always")} == set(ALWAYS_ON)
    assert {name for name in how if how[name] == "by default"} == set(GUARDS) & set(DEFAULT_PLUGINS)


def test_every_argument_is_in_the_table_with_its_default() -> None:
    table = rows("## Arguments\n")
    listed = [
        (guard, row[1].strip("`"), row[2].strip("`"))
        for guard, row in zip(fill_down([r[0] for r in table]), table, strict=True)
    ]
    known = {
        (name, each) for name, guard in GUARDS.items() for each in arguments_of(guard) if each != "actions"
    }
    assert {(guard, argument) for guard, argument, _ in listed} == known
    for guard, argument, default in listed:
        assert (guard, argument, default) == (guard, argument, GUARDS[guard].DEFAULTS[argument])


def test_the_profile_with_all_of_them_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "guards.yaml"
    file.write_text(block(REFERENCE, "yaml"))
    profile = load_settings(file).profile
    names = [setting.name for setting in profile.plugins]
    assert set(names) == {*DEFAULT_PLUGINS, *GUARDS} - set(ALWAYS_ON)
    assert "requeue" in profile.actions


@pytest.fixture
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The profile of the reference page with the guard of the guide, which is an installed package."""
    package = tmp_path / "site"
    (package / "keepqueues-1.0.dist-info").mkdir(parents=True)
    (package / "keepqueues-1.0.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: keepqueues\nVersion: 1.0\n"
    )
    entry_points = (
        block(GUIDE, "toml")
        .replace('project.entry-points."tenure.plugins"', "tenure.plugins")
        .replace('"', "")
    )
    (package / "keepqueues-1.0.dist-info/entry_points.txt").write_text(entry_points)
    (package / "keepqueues.py").write_text(block(GUIDE, "python"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(package), os.environ["PYTHONPATH"]]))
    file = tmp_path / "guards.yaml"
    file.write_text(block(REFERENCE, "yaml") + block(GUIDE, "yaml").removeprefix("plugins:\n"))
    return file


def decide_sample(*arguments: str) -> tuple[dict[str, list[str]], set[tuple[str, str]]]:
    """Return the guards by evicted pod, and the (pod group, guard) pairs of protections, for the sample."""
    ran = run_tenure("decide", str(SAMPLE), "--output", "json", *arguments)
    assert (ran.returncode, ran.stderr) == (0, "")
    answer = json.loads(ran.stdout)
    steps = [step["evict"] for group in answer["groups"] for step in group["decisions"] if "evict" in step]
    evicted = {step["pod"]: [check["guard"] for check in step["guards"]] for step in steps}
    return evicted, {(each["pod_group"], each["guard"]) for each in answer["protections"]}


def test_guard_of_another_package_protects_pod_groups(configuration: Path) -> None:
    """Without this guard, `month-end` evicts `backfill-us` of the queue analytics."""
    without, _ = decide_sample()
    evicted, protected = decide_sample("--config", str(configuration))
    assert {pod for pod in without if pod.startswith("backfill-us")} != set()
    assert {pod for pod in evicted if pod.startswith("backfill-us")} == set()
    assert ("backfill-us", "keepqueues") in protected
    limits = ["evictionlimit", "nearcompletion", "waitlimit"]
    order = ["minruntime", "evictionbackoff", *limits, "victimcooldown", "keepqueues"]
    assert list(evicted.values()) == [["preemptibility", *order]] * 2


def test_arguments_of_a_guard_of_another_package_are_validated(configuration: Path) -> None:
    configuration.write_text(configuration.read_text().replace("{queues: ", "{queue: "))
    ran = run_tenure("decide", str(SAMPLE), "--config", str(configuration))
    assert ran.returncode == 2
    assert "plugins.keepqueues.queue: plugin keepqueues has no argument 'queue'; known: queues" in ran.stderr


def test_the_test_of_the_plugin_page_passes(configuration: Path) -> None:
    file = configuration.with_name("test_keepqueues.py")
    file.write_text(block(PLUGINS.split("## Test kit\n")[1], "python"))
    ran = run_command(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, str(file)
    )
    assert ran.returncode == 0, ran.stdout


COMPANIONS = {
    *("guard_cache_key", "may_expire", "concerns", "placement_kind"),
    *("node_state", "request_index", "least", "rank", "limits_victims"),
}
"""Methods of extension points beside those of chains."""


@pytest.mark.interpreted
def test_every_extension_point_and_trait_is_in_the_tables_of_the_plugin_page() -> None:
    source = Path(points.__file__).read_text() + Path(traits.__file__).read_text()
    table = rows("## Extension points\n", PLUGINS)
    protocols, methods = ({name for row in table for name in re.findall(r"`(\w+)`", row[i])} for i in (0, 1))
    assert protocols == set(re.findall(r"^class (\w+)\(Protocol", source, re.MULTILINE))
    assert methods == {*POINTS.values(), *COMPANIONS}
    assert {row[0].strip("`") for row in rows("## Traits\n", PLUGINS)} == set(traits.Traits._fields)
