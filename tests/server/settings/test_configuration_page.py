"""docs/reference/configuration.md: every key, action and plugin with its default."""

import re
from pathlib import Path

from tenure.server.settings import load_settings
from tenure.server.settings.configuration import OptionsSection
from tenure.server.settings.server import MaxRows, RecordSettings, Security, ServerLimits
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.registry import ALWAYS_ON, BUILT_IN, DEFAULT_PLUGINS, SERVICE_FEATURES

PAGE = (Path(__file__).parents[3] / "docs/reference/configuration.md").read_text()
COMPUTED = ("maxRows", "maxStaleness", "maxConcurrentCycles", "maxMemoryMib")
"""Limits whose default is not a single value."""
ON_THE_GUARDS_PAGE = "see [guards]"


def rows(heading: str) -> list[list[str]]:
    """Return the cells of all tables of a section."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_options_read_as_a_file_are_the_default_options(tmp_path: Path) -> None:
    defaults = {names(row[0])[0]: row[1] for row in rows("Options")}
    assert defaults.keys() == {field.alias for field in OptionsSection.model_fields.values()}
    file = tmp_path / "options.yaml"
    file.write_text("options:\n" + "".join(f"  {name}: {value}\n" for name, value in defaults.items()))
    assert load_settings(file).profile.options == CycleOptions()


def test_limits_read_as_a_file_are_the_default_limits(tmp_path: Path) -> None:
    table = rows("Limits")
    limits = {names(row[0])[0]: row[1].strip("`") for row in table if len(row) == 3}
    lists = {names(row[i])[0]: row[i + 1] for row in table if len(row) == 4 for i in (0, 2)}
    assert limits.keys() == {field.alias for field in ServerLimits.model_fields.values()}
    assert lists.keys() == {field.alias for field in MaxRows.model_fields.values()}
    lines = [f"  {name}: {value}\n" for name, value in limits.items() if name not in COMPUTED]
    maximum = ", ".join(f"{name}: {value}" for name, value in lists.items())
    file = tmp_path / "limits.yaml"
    file.write_text("server:\n" + "".join(lines) + f"  maxRows: {{{maximum}}}\n")
    assert load_settings(file).limits == ServerLimits()


def test_keys_of_security_and_records_are_complete() -> None:
    security = {name for row in rows("Security") for name in names(row[0]) if name[0] != "-"}
    assert security == {field.alias for field in Security.model_fields.values()}
    records = {names(row[0])[0].removeprefix("records.") for row in rows("Records")}
    assert records == {field.alias for field in RecordSettings.model_fields.values()}


def test_actions_are_complete() -> None:
    assert [names(row[0])[0] for row in rows("Actions")] == list(BUILT_IN.actions)


def test_plugins_are_complete_with_default_and_arguments() -> None:
    table = {name: (row[1], row[2]) for row in rows("Plugins") for name in names(row[0])}
    assert table.keys() == BUILT_IN.plugins.keys() - SERVICE_FEATURES.keys()
    for name, (default, arguments) in table.items():
        expected = "always" if name in ALWAYS_ON else "yes" if name in DEFAULT_PLUGINS else "no"
        assert (name, default) == (name, expected)
        if ON_THE_GUARDS_PAGE not in arguments:
            assert set(names(arguments)) == set(getattr(BUILT_IN.plugins[name], "ARGUMENTS", {}))
