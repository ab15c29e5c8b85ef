"""The command `tenure migrate`: files, exit codes and output."""

import json
import os
import subprocess
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from shutil import which

import pytest
from rich.console import Console
from tenure.cli.migration import ManifestError
from tenure.cli.migration.plan import find_files, replace_text
from tenure.cli.migration.report import print_differences

from tests.cli.command import CommandResult, in_process
from tests.cli.migration.manifest_folder import plan_of
from tests.e2e.command import ROOT

IMPLICIT = (
    "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: g}\n"
    "spec:\n  priorityClassName: train\n"
)
ADDED = "  preemptibility: preemptible\n"
UNKNOWN = IMPLICIT.replace("train", "gold")


Migrate = Callable[..., CommandResult]


@pytest.fixture
def migrate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Migrate:
    tenure = in_process(monkeypatch, capsys)

    def command(*arguments: str, **files: str) -> CommandResult:
        for name, text in files.items():
            (tmp_path / name.replace("_", ".")).write_text(text)
        monkeypatch.chdir(tmp_path)
        return tenure("migrate", *arguments)

    return command


def contents(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}


def test_files_are_rewritten_and_the_diff_is_printed(migrate: Migrate, tmp_path: Path) -> None:
    ended = migrate(".", a_yaml=IMPLICIT, b_txt=IMPLICIT)
    assert ended == CommandResult(
        0,
        "--- a.yaml\n+++ a.yaml\n@@ -3,3 +3,4 @@\n metadata: {name: g}\n spec:\n   priorityClassName: train\n"
        "+  preemptibility: preemptible\n"
        "1 file, 1 object changed, 0 already explicit, 0 need attention, 0 unchanged\n",
        "",
    )
    assert contents(tmp_path) == {"a.yaml": IMPLICIT + ADDED, "b.txt": IMPLICIT}


def test_second_run_changes_nothing(migrate: Migrate, tmp_path: Path) -> None:
    migrate("a.yaml", a_yaml=IMPLICIT)
    once = contents(tmp_path)
    summary = "1 file, 0 objects changed, 1 already explicit, 0 need attention, 0 unchanged\n"
    assert migrate("a.yaml") == CommandResult(0, summary, "")
    assert migrate("a.yaml", "--check").code == 0
    assert contents(tmp_path) == once


def test_check_changes_no_file_and_exits_with_1(migrate: Migrate, tmp_path: Path) -> None:
    ended = migrate(".", "--check", a_yaml=IMPLICIT)
    assert (ended.code, ended.err) == (1, "")
    assert f"+{ADDED}1 file, 1 object to change, " in ended.out
    assert contents(tmp_path) == {"a.yaml": IMPLICIT}


@pytest.mark.parametrize("check", [[], ["--check"]])
def test_object_that_needs_attention_exits_with_1(migrate: Migrate, check: list[str]) -> None:
    ended = migrate("a.yaml", *check, a_yaml=UNKNOWN)
    assert (ended.code, ended.err) == (1, "")
    assert ended.out.splitlines()[0] == (
        "a.yaml:1: document 1, PodGroup g: its priority class gold is not defined in the manifests; "
        "add --priority-class gold=VALUE"
    )
    assert ended.out.splitlines()[1].endswith("0 already explicit, 1 needs attention, 0 unchanged")


def test_priority_class_option_is_used(migrate: Migrate, tmp_path: Path) -> None:
    assert migrate("a.yaml", "--priority-class", "gold=120", a_yaml=UNKNOWN).code == 0
    assert contents(tmp_path)["a.yaml"] == UNKNOWN + "  preemptibility: non-preemptible\n"


def test_findings_are_printed_as_json(migrate: Migrate, tmp_path: Path) -> None:
    ended = migrate(".", "--output", "json", a_yaml=IMPLICIT, b_yaml="---\n---\n" + UNKNOWN)
    assert ended.code == 1
    assert json.loads(ended.out) == [
        {
            "status": "changed",
            "file": "a.yaml",
            "document": 1,
            "line": 1,
            "kind": "PodGroup",
            "name": "g",
            "field": "spec.preemptibility",
            "value": "preemptible",
            "priority_classes": ["train"],
            "message": "",
        },
        {
            "status": "attention",
            "file": "b.yaml",
            "document": 2,
            "line": 3,
            "kind": "PodGroup",
            "name": "g",
            "field": "spec.preemptibility",
            "value": "",
            "priority_classes": [],
            "message": "its priority class gold is not defined in the manifests; "
            "add --priority-class gold=VALUE",
        },
    ]
    assert contents(tmp_path)["a.yaml"] == IMPLICIT + ADDED


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("z.yaml", "a: [1\nb: 2\n", "z.yaml:2:2: did not find expected ',' or ']'"),
        ("z.yaml", "a: b: c\n", "z.yaml:1:5: mapping values are not allowed in this context"),
        ("z.yaml", "a: *b\n", "z.yaml:1:4: no anchor &b is defined before this alias"),
        ("z.yaml", "a: 1\nb: \x07\n", "z.yaml:2:4: the character '\\x07' must be escaped"),
        ("z.yml", "- " * 300, "z.yml:1:401: nested too deeply"),
        ("z.yaml", "a: 1\n{{ if .x }}\nb: 2\n", " (if it is a template, render it first"),
        ("z.json", '{"a": 1,\n "b": }', "z.json:2:7: Expecting value"),
        ("z.json", "{}\n{}", "z.json:2:1: Extra data"),
        ("z.json", "[" * 100_000, "z.json:1:1: nested too deeply"),
    ],
)
def test_invalid_file_prevents_changes_of_all_files(
    migrate: Migrate, tmp_path: Path, name: str, text: str, says: str
) -> None:
    (tmp_path / name).write_text(text)
    ended = migrate(".", a_yaml=IMPLICIT, b_yaml=IMPLICIT)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err
    assert ended.err.startswith(f"tenure: {name}")
    assert contents(tmp_path) == {"a.yaml": IMPLICIT, "b.yaml": IMPLICIT, name: text}


def test_all_invalid_files_are_named(migrate: Migrate, tmp_path: Path) -> None:
    (tmp_path / "l.yaml").write_bytes(b"a: \xff\n")
    ended = migrate(".", a_yaml="a: [", b_json="{", c_yaml=IMPLICIT)
    assert [line.removeprefix("tenure: ").split(":")[0] for line in ended.err.splitlines()] == [
        "a.yaml",
        "b.json",
        "l.yaml",
    ]
    assert "l.yaml: not a UTF-8 text: byte 3 is not valid UTF-8" in ended.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Missing argument"),
        (["none.yaml"], "tenure: none.yaml: cannot be read: No such file or directory"),
        (["none"], "tenure: none: is not a directory, and its name does not end in .yaml, .yml, .json"),
        (["a.yaml", "--priority-class", "gold"], "'gold' is not NAME=VALUE, such as gold=120"),
        (["a.yaml", "--output", "xml"], "'xml' is not one of"),
    ],
)
def test_invalid_use_exits_with_2(migrate: Migrate, tmp_path: Path, arguments: list[str], says: str) -> None:
    ended = migrate(*arguments, a_yaml=IMPLICIT)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err
    assert contents(tmp_path) == {"a.yaml": IMPLICIT}


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"a\.yaml: cannot be written: No such file or directory"):
        replace_text(tmp_path / "gone" / "a.yaml", "text")


def test_file_mode_is_preserved_without_temporary_files(migrate: Migrate, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(IMPLICIT)
    file.chmod(0o640)
    assert migrate("a.yaml").code == 0
    assert file.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["a.yaml"]


def test_unchanged_file_is_not_rewritten(migrate: Migrate, tmp_path: Path) -> None:
    explicit = tmp_path / "a.yaml"
    explicit.write_text(IMPLICIT + ADDED)
    before = explicit.stat().st_ino
    assert migrate(".", b_yaml=IMPLICIT).code == 0
    assert explicit.stat().st_ino == before


def test_links_in_a_directory_are_not_followed(migrate: Migrate, tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    for folder in (outside, inside):
        folder.mkdir()
        (folder / "a.yaml").write_text(IMPLICIT)
    (inside / "file.yaml").symlink_to(outside / "a.yaml")
    (inside / "folder").symlink_to(outside)
    (inside / "dir.yaml").mkdir()
    os.mkfifo(inside / "pipe.yaml")
    assert find_files(inside) == [inside / "a.yaml"]
    assert migrate("inside").code == 0
    assert contents(outside) == {"a.yaml": IMPLICIT}
    assert contents(inside)["a.yaml"] == IMPLICIT + ADDED


def test_named_link_remains_a_link(migrate: Migrate, tmp_path: Path) -> None:
    link = tmp_path / "link.yaml"
    link.symlink_to("a.yaml")
    assert migrate("link.yaml", a_yaml=IMPLICIT).code == 0
    assert link.is_symlink()
    assert (tmp_path / "a.yaml").read_text() == IMPLICIT + ADDED


def test_colors_are_used_for_terminals_only(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, {"a.yaml": IMPLICIT.replace("\n", "\r\n")})
    watched, piped = StringIO(newline=""), StringIO(newline="")
    print_differences(plan, Console(file=watched, force_terminal=True, color_system="standard", width=20))
    print_differences(plan, Console(file=piped))
    assert "\x1b[32m+  preemptibility: preemptible\x1b[0m\n" in watched.getvalue()
    assert "+  preemptibility: preemptible\r\n" in piped.getvalue()
    assert "\x1b" not in piped.getvalue()


@pytest.mark.skipif(not which("patch"), reason="needs patch")
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "\n"])
def test_printed_diff_is_a_valid_patch(tmp_path: Path, line_end: str, last: str) -> None:
    text = (IMPLICIT.rstrip("\n") + last).replace("\n", line_end)
    plan = plan_of(tmp_path, {"a.yaml": text})
    patch = StringIO(newline="")
    print_differences(plan, Console(file=patch))
    applied = subprocess.run(
        ["patch", "--binary", "-p0", "--quiet", str(tmp_path / "a.yaml")],
        input=patch.getvalue().encode(),
        capture_output=True,
        check=False,
    )
    assert (applied.returncode, applied.stdout) == (0, b"")
    assert (tmp_path / "a.yaml").read_bytes() == plan.files[0].after.encode()


def test_help_explains_exit_codes_and_rules(migrate: Migrate) -> None:
    help_text = " ".join(migrate("--help").out.split())
    assert "Exit status: 0 done; 1 " in help_text
    assert "A priority below 100 means preemptible" in help_text


def test_example_of_the_documentation_prints_the_output_on_the_page(migrate: Migrate, tmp_path: Path) -> None:
    page = (ROOT / "docs/use/preemptibility.md").read_text()
    manifests = [part for part in page.split("```yaml\n") if part.startswith("# The nightly run")]
    manifest = manifests[0].split("```")[0]
    shown = page.split("```diff\n")[1].split("```")[0]
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests/training.yaml").write_text(manifest)
    ended = migrate("manifests", "--check")
    assert (ended.code, ended.out) == (1, shown)
