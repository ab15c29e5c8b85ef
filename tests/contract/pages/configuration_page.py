"""The tables of docs/reference/configuration.md, written from the settings, actions and plugins."""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import typer
from pydantic import BaseModel
from tenure.cli.main import app
from tenure.process.values import Logs, TelemetrySection
from tenure.server.settings.configuration import OptionsSection
from tenure.server.settings.eviction_rates import EvictionRateSection
from tenure.server.settings.server import JwtIssuer, MaxRows, RecordSettings, Security, ServerLimits
from tenure.solver.registry import ALWAYS_ON, BUILT_IN, DEFAULT_PLUGINS, SAFETY_PLUGINS, SERVICE_FEATURES

from tests.contract.pages.docstrings import action_description, field_descriptions, plugin_description

PAGE: Final = Path(__file__).parents[3] / "docs" / "reference" / "configuration.md"
GUARD_ARGUMENTS: Final = "[guards](guards.md#arguments)"
_PER_MACHINE: Final = {"maxConcurrentCycles": "one per processor, at least 2"}
"""Defaults that are computed at startup."""
_OPTION_NAMES: Final = {"enabled": "--no-records", "path": "--records"}
"""Options of `tenure serve` that are not named after the key."""


def render_configuration() -> str:
    """The page with the current tables between its markers."""
    page = PAGE.read_text(encoding="utf-8")
    for name, table in TABLES.items():
        begin, end = f"<!-- generated: {name} -->\n", f"<!-- end of {name} -->"
        if page.count(begin) != 1 or page.count(end) != 1:
            raise ValueError(f"{PAGE.name} must contain {begin.strip()} and {end} once")
        text = f"{begin}{table()}{end}"
        page = re.sub(f"{begin}.*?{end}", lambda _, text=text: text, page, flags=re.DOTALL)
    return page


def _actions() -> str:
    return _table(
        ("action", "effect"), ((f"`{name}`", action_description(name)) for name in BUILT_IN.actions)
    )


def _plugins() -> str:
    return _table(
        ("plugin", "default", "arguments", "function"),
        (
            (f"`{name}`", _is_default(name), _arguments(plugin), plugin_description(plugin))
            for name, plugin in BUILT_IN.plugins.items()
            if name not in SERVICE_FEATURES
        ),
    )


def _is_default(name: str) -> str:
    return "always" if name in ALWAYS_ON else "yes" if name in DEFAULT_PLUGINS else "no"


def _arguments(plugin: Any) -> str:
    arguments: Mapping[str, Any] = getattr(plugin, "ARGUMENTS", {})
    defaults: Mapping[str, str] = getattr(plugin, "DEFAULTS", {})
    if "actions" in arguments:
        return GUARD_ARGUMENTS
    return ", ".join(f"`{name}` ({defaults[name]})" for name in arguments)


def _safety() -> str:
    return _table(("plugin", "without it"), ((f"`{name}`", text) for name, text in SAFETY_PLUGINS.items()))


def _keys(section: type[BaseModel], *, options: bool = False, prefix: str = "") -> str:
    """Key, default and meaning of each field; with `options`, the option of `tenure serve`, too."""
    rows = _rows(section, prefix)
    if not options:
        return _table(("key", "default", "meaning"), rows)
    names = _serve_options()
    return _table(
        ("key", "option", "default", "meaning"),
        ((key, _option(key, names), default, meaning) for key, default, meaning in rows),
    )


def _rows(section: type[BaseModel], prefix: str = "") -> list[tuple[str, str, str]]:
    """Key, default and meaning. `None: X.` in a docstring is the default."""
    descriptions, rows = field_descriptions(section), []
    for name, field in section.model_fields.items():
        if isinstance(field.default, Logs):
            rows += _rows(Logs, "logs.")
            continue
        key, text = str(field.alias), descriptions.get(name, "")
        none = re.search(r"\s?None: (.+?)\.$", text)
        default = "required" if field.is_required() else _default(section, name, key, none and none[1])
        rows.append((f"`{prefix}{key}`", default, re.sub(r"\s?None: .+?\.$", "", text).removesuffix(".")))
    return rows


def _default(section: type[BaseModel], name: str, key: str, none: str | None) -> str:
    if key in _PER_MACHINE:
        return _PER_MACHINE[key]
    value = section.model_construct().model_dump(mode="json", include={name})[name]
    if value is None or value == []:
        return none or "none"
    return (
        "see below"
        if isinstance(value, dict)
        else str(value).lower()
        if value in (True, False)
        else f"{value}"
    )


def _serve_options() -> set[str]:
    (serve,) = (
        command
        for name, command in typer.main.get_command(app).commands.items()
        if name == "serve"  # type: ignore[attr-defined]
    )
    return {option for parameter in serve.params for option in parameter.opts}


def _option(key: str, options: set[str]) -> str:
    name = key.strip("`").rpartition(".")[2]
    option = _OPTION_NAMES.get(name, "--" + re.sub("([A-Z])", r"-\1", name).lower())
    return f"`{option}`" if option in options else ""


def _lists() -> str:
    rows = ((key, f"{int(default):,}", meaning) for key, default, meaning in _rows(MaxRows))
    return _table(("list", "default", "meaning"), rows)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = tuple(head)
    lines = (head, ("---",) * len(head), *rows)
    text = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    return re.sub(r"\| (---[ |-]*) \|", lambda match: match[0].replace(" ", ""), text).replace("|  |", "| |")


TABLES: Final[Mapping[str, Callable[[], str]]] = {
    "actions": _actions,
    "plugins": _plugins,
    "safety": _safety,
    "options": lambda: _keys(OptionsSection),
    "evictionRates": lambda: _keys(EvictionRateSection),
    "limits": lambda: _keys(ServerLimits),
    "lists": _lists,
    "security": lambda: _keys(Security, options=True),
    "issuers": lambda: _keys(JwtIssuer),
    "records": lambda: _keys(RecordSettings, options=True, prefix="records."),
    "telemetry": lambda: _keys(TelemetrySection),
}
"""Tables by the names of their markers."""
