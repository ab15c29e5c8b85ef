"""CONTRIBUTING.md, code owners, hooks and the devcontainer name what exists."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checks import CHECKS
from tests.packaging.dockerfile import arguments_of
from tests.repository.pages import CONTRIBUTING, ROOT, code_owners, hooks, make_targets, table

COMMANDS = sorted(
    set(
        re.findall(
            r"(?:^|`)(make [.\w/-]+|\.venv/bin/[\w-]+(?: -m tests [\w-]+| tests/\S+)?)",
            CONTRIBUTING,
            re.MULTILINE,
        )
    )
)


def check_command(command: str) -> None:
    """Fail if a command names a target, program, check or folder that does not exist."""
    program, *arguments = command.split()
    if program == "make":
        assert arguments[0] in make_targets()
    elif arguments[:2] == ["-m", "tests"]:
        assert arguments[2] in {check.name for check in CHECKS}
    else:
        assert (Path(sys.executable).parent / Path(program).name).exists()
        assert all((ROOT / argument).exists() for argument in arguments)


@pytest.mark.parametrize("command", COMMANDS)
def test_command_exists(command: str) -> None:
    check_command(command)


def test_commands_are_found() -> None:
    assert {"make lint", ".venv/bin/pytest tests/solver/search", ".venv/bin/python -m tests counters"} <= {
        *COMMANDS
    }
    with pytest.raises(AssertionError):
        check_command("make nothing")
    with pytest.raises(AssertionError):
        check_command(".venv/bin/python -m tests nothing")


def test_files_that_are_named_exist() -> None:
    paths = re.findall(r"`((?:server|protos|tests|docs|client|docker)(?:/[\w./-]+)?)`", CONTRIBUTING)
    assert len(paths) > 10
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_folder_of_the_repository_is_described() -> None:
    listed = subprocess.run(
        ["git", "ls-tree", "-d", "--name-only", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    described = {row[0].strip("`") for row in table(CONTRIBUTING, "| folder | content")}
    assert described == {name for name in listed.stdout.split() if not name.startswith(".")}


def test_code_owners_are_the_roles_of_the_page() -> None:
    roles = {row[0].strip("`") for row in table(CONTRIBUTING, "| role | responsible")}
    owners = {owner.removeprefix("@tenure/") for owners in code_owners().values() for owner in owners}
    assert owners == roles


def test_code_owners_name_existing_files_and_own_everything() -> None:
    patterns = code_owners()
    assert next(iter(patterns)) == "*"
    assert [name for name in patterns if name != "*" and not (ROOT / name.strip("/")).exists()] == []
    assert [name for name in patterns if name.endswith("/") and not (ROOT / name.strip("/")).is_dir()] == []


def test_hooks_run_what_the_makefile_and_the_checks_run() -> None:
    entries = [str(hook["entry"]) for hook in hooks()]
    assert "make lint" in entries
    for entry in entries:
        check_command(entry)
    config = str(ROOT / ".pre-commit-config.yaml")
    command = [str(Path(sys.executable).parent / "pre-commit"), "validate-config", config]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_devcontainer_has_the_base_of_the_image_and_the_set_up_of_the_page() -> None:
    text = (ROOT / ".devcontainer/devcontainer.json").read_text()
    container = json.loads(re.sub(r"^//.*", "", text, flags=re.MULTILINE))
    assert f"BUILD={container['image']}" in arguments_of("ARG")
    for command in container["postCreateCommand"].split(" && "):
        assert command in CONTRIBUTING
