"""docs/reference/configuration.md: its generated tables, read as a file, are the defaults."""

import re
from pathlib import Path

from tenure.server.settings import load_settings
from tenure.server.settings.configuration import OptionsSection
from tenure.server.settings.server import MaxRows, ServerLimits
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.registry import BUILT_IN

from tests.contract.pages.configuration_page import TABLES
from tests.contract.pages.docstrings import plugin_description

COMPUTED = ("maxRows", "maxStaleness", "maxConcurrentCycles", "maxMemoryMib")
"""Limits whose default is not a single value."""


def rows(name: str) -> list[list[str]]:
    """Return the cells of a table, without its head."""
    lines = TABLES[name]().splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def defaults(name: str) -> dict[str, str]:
    return {row[0].strip("`"): row[1] for row in rows(name)}


def test_options_read_as_a_file_are_the_default_options(tmp_path: Path) -> None:
    options = defaults("options")
    assert options.keys() == {field.alias for field in OptionsSection.model_fields.values()}
    file = tmp_path / "options.yaml"
    file.write_text("options:\n" + "".join(f"  {name}: {value}\n" for name, value in options.items()))
    assert load_settings(file).profile.options == CycleOptions()


def test_limits_read_as_a_file_are_the_default_limits(tmp_path: Path) -> None:
    limits, lists = defaults("limits"), defaults("lists")
    assert limits.keys() == {field.alias for field in ServerLimits.model_fields.values()}
    assert lists.keys() == {field.alias for field in MaxRows.model_fields.values()}
    lines = [f"  {name}: {value}\n" for name, value in limits.items() if name not in COMPUTED]
    maximum = ", ".join(f"{name}: {value.replace(',', '')}" for name, value in lists.items())
    file = tmp_path / "limits.yaml"
    file.write_text("server:\n" + "".join(lines) + f"  maxRows: {{{maximum}}}\n")
    assert load_settings(file).limits == ServerLimits()


def test_every_action_plugin_and_key_has_a_description() -> None:
    without = {"lists"}
    for name in TABLES.keys() - without:
        assert [(name, row[0]) for row in rows(name) if not re.search(r"\w", row[-1])] == []


def test_every_argument_of_a_plugin_has_a_default_that_the_plugin_reads() -> None:
    for name, plugin in BUILT_IN.plugins.items():
        parsers = dict(getattr(plugin, "ARGUMENTS", {}))
        declared = dict(getattr(plugin, "DEFAULTS", {}))
        assert (name, declared.keys()) == (name, parsers.keys() - {"actions"})
        for argument, text in declared.items():
            parsers[argument](text)


def test_descriptions_name_no_rules() -> None:
    assert [name for name in BUILT_IN.plugins if "R1" in plugin_description(BUILT_IN.plugins[name])] == []
