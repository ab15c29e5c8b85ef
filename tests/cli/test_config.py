"""`tenure config show` and `tenure config check`."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result
from tenure.cli.main import app
from tenure.server.settings import load_settings
from tenure.solver.registry import BUILT_IN, DEFAULT_PLUGINS, SAFETY_PLUGINS
from typer.testing import CliRunner

from tests.e2e.command import run_tenure

LISTED = "".join(f"  - name: {name}\n" for name in SAFETY_PLUGINS)
TIERS = f"tiers:\n- plugins:\n{LISTED}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tenure.yaml"


def config(*arguments: object, **variables: str | None) -> Result:
    unset = dict.fromkeys(("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_SAMPLER", "XDG_STATE_HOME"))
    return CliRunner().invoke(app, ["config", *map(str, arguments)], env={**unset, **variables})


def shown(*arguments: object, **variables: str) -> dict[str, dict[str, Any]]:
    ended = config("show", "--output", "json", *arguments, **variables)
    assert ended.exit_code == 0, ended.output
    return {setting["path"]: setting for setting in json.loads(ended.stdout)["settings"]}


def checked(file: Path, text: str) -> dict[str, Any]:
    file.write_text(text)
    ended = config("check", file, "--output", "json")
    found: dict[str, Any] = json.loads(ended.stdout)
    assert (ended.exit_code, found["file"]) == (0 if found["valid"] else 1, str(file))
    return found


def test_show_prints_the_value_and_source_of_every_setting(file: Path) -> None:
    file.write_text(
        "plugins:\n  minruntime:\n    defaultReclaimMinRuntime: 10m\n  numa: true\n  topology: off\n"
    )
    settings = shown("--config", file, OTEL_EXPORTER_OTLP_ENDPOINT="http://collector:4317")
    expected: dict[str, tuple[Any, str, int | None, str | None]] = {
        "actions": (
            "allocate, consolidation, reclaim, preempt, requeue, stalegangeviction", "default", None, None,
        ),
        "plugins.minruntime.defaultReclaimMinRuntime": ("10m", "file", 3, None),
        "plugins.minruntime.defaultPreemptMinRuntime": ("0s", "default", None, None),
        "plugins.minruntime.actions": ("reclaim, preempt, consolidation, requeue", "default", None, None),
        "plugins.evictionbackoff.cooldown": ("5m", "default", None, None),
        "plugins.numa": (True, "file", 4, None),
        "plugins.topology": (False, "file", 5, None),
        "plugins.waitlimit": (False, "default", None, None),
        "plugins.preemptibility": (True, "default", None, None),
        "options.stalenessGracePeriod": ("1m", "default", None, None),
        "options.speedups": ("all", "default", None, None),
        "server.maxRows.nodes": (20_000, "default", None, None),
        "server.tlsCert": (None, "default", None, None),
        "telemetry.otlpEndpoint": (
            "http://collector:4317", "environment", None, "OTEL_EXPORTER_OTLP_ENDPOINT",
        ),
    }  # fmt: skip
    assert {
        path: tuple(settings[path][key] for key in ("value", "source", "line", "variable"))
        for path in expected
    } == expected


def test_a_setting_of_the_file_has_precedence_over_the_environment(file: Path) -> None:
    file.write_text("telemetry: {otlpEndpoint: 'http://here:4317'}\nrecords:\n  path: /var/lib/r\n")
    settings = shown(
        "--config", file, OTEL_EXPORTER_OTLP_ENDPOINT="http://there:4317", XDG_STATE_HOME="/state"
    )
    assert (settings["telemetry.otlpEndpoint"]["value"], settings["records.path"]["value"]) == (
        "http://here:4317",
        "/var/lib/r",
    )
    assert shown(XDG_STATE_HOME="/state")["records.path"]["variable"] == "XDG_STATE_HOME"


def test_the_absence_of_a_requeue_cooldown_is_shown() -> None:
    assert "no cooldown" in shown()["options.defaultRequeueDelay"]["note"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plugins: {numa: true, gpupack: false, minruntime: {reclaimResolveMethod: queue}}",
        TIERS + "  - name: nearcompletion\n    arguments: {window: 5m}\nactions: allocate, reclaim",
        "options: {stalenessGracePeriod: never, speedups: pruning}\nserver: {maxRows: {pods: 7}}",
        "server: {jwtIssuers: [{name: a, issuer: b, audience: c, keys: /d}]}",
        "records: {maxAge: 2d}\ntelemetry: {sampleRatio: 0.5, logs: {level: info}}",
    ],
)
def test_what_show_prints_is_a_file_with_the_same_settings(text: str, file: Path, tmp_path: Path) -> None:
    file.write_text(text)
    ended = config("show", "--config", file)
    printed = tmp_path / "printed.yaml"
    printed.write_text(ended.stdout)
    before, after = load_settings(file), load_settings(printed)
    names = [plugin.name for plugin in after.profile.plugins if plugin.name != "preemptibility"]
    assert names == [plugin.name for plugin in before.profile.plugins]
    arguments = {plugin.name: plugin.arguments for plugin in after.profile.plugins}
    assert all(
        plugin.arguments.items() <= arguments[plugin.name].items() for plugin in before.profile.plugins
    )
    assert (after.profile.actions, after.profile.options) == (
        before.profile.actions,
        before.profile.options,
    )
    assert after[1:] == before[1:]


def test_show_prints_the_source_of_each_line_as_a_comment(file: Path) -> None:
    file.write_text("plugins:\n  nodeplacement: {gpu: spread}\n")
    lines = [" ".join(line.split()) for line in config("show", "--config", file).stdout.splitlines()]
    assert "gpu: spread # line 2" in lines
    assert "cpu: binpack # default" in lines
    assert "# tlsCert: # not set (default)" in lines
    defaults = yaml.safe_load(config("show").stdout)["plugins"]
    assert [name for name, value in defaults.items() if value is not False] == [
        "preemptibility",
        *DEFAULT_PLUGINS,
    ]


def test_show_names_the_line_of_a_plugin_with_default_arguments(file: Path) -> None:
    file.write_text("plugins:\n  evictionlimit: {}\n")
    lines = [line.split() for line in config("show", "--config", file).stdout.splitlines()]
    assert ["evictionlimit:", "#", "line", "2"] in lines
    assert ["evictionbackoff:"] in lines


def test_show_rejects_an_invalid_file(file: Path) -> None:
    file.write_text("plugins: {minruntim: {}}")
    ended = run_tenure("config", "show", "--config", str(file))
    assert (ended.returncode, ended.stdout) == (2, "")
    problem = "plugins.minruntim: unknown plugin 'minruntim'; did you mean minruntime?"
    assert ended.stderr == f"tenure: {file}: {problem}\n"


@pytest.mark.parametrize(
    ("text", "path", "line", "error"),
    [
        ("actions: allocate\nplugin: {}", "plugin", 2, "unknown key; did you mean plugins?"),
        (TIERS + "  - name: x", "tiers[0].plugins[7].name", 10, "unknown plugin 'x'; known: "),
        (
            "tiers:\n- plugins:\n  - name: minruntime",
            "tiers",
            1,
            "is the complete list of plugins and omits ",
        ),
        ("options:\n\n  stalenessGracePeriod: 5", "options.stalenessGracePeriod", 3, "'5' is not a duration"),
        ("tiers:\n- {}", "tiers[0].plugins", 2, "is required"),
        ("actions: [allocate\n", "", 2, "expected ',' or ']'"),
        ("- allocate", "", None, "must be a mapping with keys such as `actions`"),
    ],
)
def test_check_reports_errors_with_their_lines(
    text: str, path: str, line: int | None, error: str, file: Path
) -> None:
    found = checked(file, text)
    assert (found["valid"], found["warnings"]) == (False, [])
    (only,) = found["errors"]
    assert (only["path"], only["line"]) == (path, line)
    assert only["text"].startswith(error)


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("", []),
        ("plugins: {numa: true}\noptions: {defaultRequeueDelay: 30m, requeueOrder: overrun}", []),
        (
            "plugins:\n  numa: true\n  topology: false",
            [("plugins.topology", 3, f"topology is off: {SAFETY_PLUGINS['topology']}")],
        ),
        (
            TIERS.replace("  - name: elastic\n", "  - name: sg-nodelocalgreedy\n")
            + "actions: allocate\nallowMissingPlugins: elastic",
            [("allowMissingPlugins", 11, f"elastic is off: {SAFETY_PLUGINS['elastic']}")],
        ),
        (
            TIERS + "actions: allocate, reclaim, preempt",
            [("tiers", 1, "without sg-nodelocalgreedy and sg-multinodegang, reclaim, preempt evict nothing")],
        ),
        (
            "options:\n  requeueOrder: overrun",
            [
                (
                    "options.defaultRequeueDelay",
                    1,
                    "is 0s: a requeue has no cooldown unless the pod group or its queue sets a delay",
                )
            ],
        ),
        (
            "actions: allocate, requeue\nplugins: {expectedruntime: false}",
            [("actions", 1, "requeue evicts nothing, because the plugin expectedruntime is off")],
        ),
    ],
)
def test_check_warns_of_valid_settings(text: str, warnings: list[tuple[str, int, str]], file: Path) -> None:
    found = checked(file, text)
    assert (found["valid"], found["errors"]) == (True, [])
    assert [(each["path"], each["line"], each["text"]) for each in found["warnings"]] == warnings


def test_check_prints_one_line_per_finding(file: Path) -> None:
    file.write_text("plugins:\n  topology: false\n")
    assert config("check", file).stdout.splitlines() == [
        f"{file}:2: warning: plugins.topology: topology is off: {SAFETY_PLUGINS['topology']}",
        f"{file}: valid.",
    ]
    file.write_text("actions: dance\nserver: {maxStates: 0}\n")
    ended = config("check", file)
    assert ended.exit_code == 1
    assert ended.stdout.splitlines() == [
        f"{file}:2: error: server.maxStates: must be at least 1",
        f"{file}:1: error: actions[0]: unknown action 'dance'; known: {', '.join(BUILT_IN.actions)}",
        f"{file}: invalid.",
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    {
        "tiers:": "tiers: must be a list",
        "tiers: []": "tiers: must not be empty",
        "tiers: [{plugins: [minruntime]}]": "tiers[0].plugins[0]: must be a mapping",
        "tiers: [{}]": "tiers[0].plugins: is required",
        "plugins: [minruntime]": "plugins: must be a mapping",
        "plugins: {minruntime: {actions: [reclaim]}}": "plugins.minruntime.actions: must be text",
        "options: {maxConsolidationVictims: few}": "options.maxConsolidationVictims: must be a whole number",
        "options: {requeueStrict: maybe}": "options.requeueStrict: must be true or false",
        "options: {requeueOrder: any}": "options.requeueOrder: must be 'priority' or 'overrun'",
        "server: {maxMessageMib: 1.5}": "server.maxMessageMib: must be a whole number",
        "server: {jwtIssuers: {}}": "server.jwtIssuers: must be a list",
        "server: {tlsCert: [a]}": "server.tlsCert: must be the name of a file",
        "telemetry: {sampleRatio: most}": "telemetry.sampleRatio: must be a number",
        "telemetry: {sampleRatio: -1}": "telemetry.sampleRatio: must be at least 0",
        "telemetry: {sampleRatio: 2}": "telemetry.sampleRatio: must be at most 1",
    }.items(),
)
def test_errors_are_in_the_words_of_the_file_and_not_of_python(text: str, error: str, file: Path) -> None:
    file.write_text(text)
    assert config("check", file).stdout.splitlines() == [f"{file}:1: error: {error}", f"{file}: invalid."]


@pytest.mark.parametrize("arguments", [["check"], ["check", "nowhere.yaml"], ["show", "--output", "xml"]])
def test_invalid_command_line_exits_with_2(arguments: list[str]) -> None:
    assert config(*arguments).exit_code == 2
