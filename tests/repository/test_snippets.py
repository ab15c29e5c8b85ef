"""Every code block of every page is run by a test, or it is said by name why it cannot be."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest
import typer
import yaml
from tenure.cli.main import app
from tenure.server.audit.entry import GENESIS, AuditEntry, Position, encode_line

from tests.checks import CHECKS
from tests.e2e.command import SAMPLE
from tests.repository.pages import ROOT, make_targets
from tests.repository.snippets import NOT_RUN, OUTPUT, PARSED, PROOFS, RUN, SHELL, Snippet, commands, snippets
from tests.tools.catalog import TOOLS

SNIPPETS: Final = snippets()
COMMANDS: Final = sorted({(s.page, line) for s in SNIPPETS if s.language in SHELL for line in commands(s)})
OTHERS: Final = {
    *("kubectl", "helm", "kustomize", "docker", "gh", "go", "curl", "awk", "dask", "haproxy", "sha256sum"),
    *("cp", "export", "ln"),
    *(".cache/go-client/client", "pre-commit"),
}
"""Programs of others, and words of the shell. What they do with our files is shown by the tests in PROOFS."""

_ENDS: Final = (">", "2>&1", "|", "&&")
_RUN_AS_THEY_ARE: Final = ("docs/get-started/kubernetes.md", "docs/get-started/slurm.md")
"""Pages whose scripts a test runs on real clusters."""


def test_every_block_has_a_proof_and_every_proof_a_block() -> None:
    found = {(s.page, s.language) for s in SNIPPETS if s.language not in OUTPUT}
    assert found == {(page, language) for page, proofs in PROOFS.items() for language in proofs}


@pytest.mark.parametrize("proof", sorted({proof for proofs in PROOFS.values() for proof in proofs.values()}))
def test_proofs_exist(proof: str) -> None:
    file, _, name = proof.partition("::")
    assert re.search(rf"^def {name}\(", (ROOT / file).read_text(), re.MULTILINE)


def test_pages_whose_commands_are_only_parsed_say_why() -> None:
    assert {page for page, proofs in PROOFS.items() if PARSED in proofs.values()} == NOT_RUN.keys()
    named = re.findall(r"tests/[\w/.]+", " ".join(NOT_RUN.values()))
    assert [name for name in named if not (ROOT / name).exists()] == []


def _parse_tenure(words: list[str]) -> None:
    """Raises UsageError for a command or an option that does not exist."""
    command: Any = typer.main.get_command(app)
    context = command.context_class(command, info_name="tenure")
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
        context = command.context_class(command, context, info_name=command.name)
    assert not (words and hasattr(command, "commands")) or words[0].startswith("-"), "no such command"
    _, rest, _ = command.make_parser(context).parse_args(list(words))
    assert not rest, "too many arguments"


def _parse_check(words: list[str]) -> None:
    """The same for a check."""
    name, *rest = words or [""]
    if name == "build":
        assert set(rest) <= {tool.name for tool in TOOLS}
    elif name:
        (check,) = (each for each in CHECKS if each.name == name)
        if rest:
            single = typer.Typer(add_completion=False)
            single.command()(check.load())
            command: Any = typer.main.get_command(single)
            command.make_parser(command.context_class(command, info_name=name)).parse_args(list(rest))


def _check(page: str, line: str) -> None:
    """Raises an error if the program of a command does not have what it names."""
    if page in _RUN_AS_THEY_ARE and not line.startswith("tenure "):
        return
    words = shlex.split(line.removeprefix(".venv/bin/"))
    words = words[: next((at for at, word in enumerate(words) if word in _ENDS), len(words))]
    match words:
        case ["tenure", *rest]:
            _parse_tenure(rest)
        case ["python", "-m", "tests", *rest]:
            _parse_check(rest)
        case ["python", "-m", module, *_]:
            assert (ROOT / module.replace(".", "/")).with_suffix(".py").exists()
        case ["python", script, *_]:
            assert (ROOT / script).exists()
        case ["make", *targets]:
            assert {target for target in targets if "=" not in target} <= make_targets()
        case ["pytest", *arguments]:
            assert [word for word in arguments if "/" in word and not (ROOT / word).exists()] == []
        case ["pip", "install", *_]:
            pass  # tests/packaging/test_pip_lines.py
        case [program, *_]:
            assert program in OTHERS


@pytest.mark.parametrize("page", sorted({page for page, _ in COMMANDS}))
def test_commands_are_understood_by_their_programs(page: str) -> None:
    for line in (line for each, line in COMMANDS if each == page):
        try:
            _check(page, line)
        except Exception as problem:
            raise AssertionError(f"{line}: {problem!r}") from problem


_SMALLER: Final = (
    ("days: 7", "days: 0.2"),
    ("days: 2", "days: 0.2"),
    ("seeds: [1, 2, 3, 4, 5]", "seeds: [1]"),
)
"""So that a run takes seconds, not minutes."""
_LATER: Final = {
    "philly.csv": "the Philly trace is not part of the repository",
    "philly.yaml": "the Philly trace is not part of the repository",
    "jobs.swf": "a trace of the reader; tests/simulator/traces reads such files",
    "records.sqlite": "records of the reader; tests/simulator/traces plays some",
    "study-runs": "runs until it is stopped",
    "--scheduler": "machines of the reader; tests/cli/test_sweep.py uses dask",
}
_RUNNABLE: Final = [
    (page, line)
    for page, line in COMMANDS
    if RUN in PROOFS[page].values()
    and line.startswith("tenure ")
    and not any(w in line for w in _LATER)
    and "console" not in line
    and "--with " not in line
]


def _files(page: str) -> dict[str, str]:
    """Files that the page shows or names, smaller; `# name` is in their first line."""
    blocks = [s.text for s in SNIPPETS if s.page == page and s.language == "yaml"]
    named = {re.split(r"[#\s]+", text)[1]: text for text in blocks if text.startswith("# ")}
    load = next(s.text for s in SNIPPETS if s.page == "docs/use/play.md" and s.language == "yaml")
    plain = dict.fromkeys(("now.yaml", "new.yaml", "a.yaml", "b.yaml", "gentle.yaml"), "actions: allocate\n")
    found = {**plain, "load.yaml": load, "cluster.yaml": SAMPLE.read_text(), **named}
    for name in found:
        for long, short in _SMALLER:
            found[name] = found[name].replace(long, short)
        found[name] = re.sub(r"^resample:.*\n", "", found[name], flags=re.MULTILINE)
    return found


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("page", "line"), _RUNNABLE)
def test_commands_run(page: str, line: str, tmp_path: Path) -> None:
    for name, text in _files(page).items():
        (tmp_path / name).write_text(text)
    words = shlex.split(line)[1:]
    command = [sys.executable, "-m", "tenure.cli", *words]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr.count("Traceback")) == (0, 0), ended.stderr
    assert ended.stdout
    written = [words[at + 1] for at, word in enumerate(words) if word == "--report"]
    assert [name for name in written if not (tmp_path / name).exists()] == []


def test_commands_of_each_page_that_is_run_are_run() -> None:
    assert {page for page, _ in _RUNNABLE} == {page for page, by in PROOFS.items() if RUN in by.values()}


def _blocks(page: str, language: str) -> list[Snippet]:
    return [s for s in SNIPPETS if (s.page, s.language) == (page, language)]


@pytest.mark.parametrize("page", ["docs/use/console.md", "docs/use/kubectl.md"])
def test_yaml_is_valid(page: str) -> None:
    for block in _blocks(page, "yaml"):
        assert all(isinstance(document, dict) for document in yaml.safe_load_all(block.text))


def test_metadata_names_the_example() -> None:
    (block,) = _blocks("docs/extend/actions.md", "toml")
    given = tomllib.loads(block.text)["project"]["entry-points"]["tenure.actions"]
    example = tomllib.loads((ROOT / "tests/examples/timeslice/pyproject.toml").read_text())
    assert given == example["project"]["entry-points"]["tenure.actions"]


def test_audit_line_is_one_that_servers_write() -> None:
    (block,) = _blocks("docs/operate/security.md", "json")
    shown = json.loads(block.text)
    entry = AuditEntry(**{name: shown[name] for name in AuditEntry._fields})
    moment = datetime.fromisoformat(shown["time"].replace("Z", "+00:00"))
    line = encode_line(entry, int(moment.timestamp()) * 10**9, Position(0, GENESIS), lost=0)
    assert line.decode() == block.text.strip()
