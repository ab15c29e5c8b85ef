"""Every code block of every page is run by a test or a check."""

import json
import re
import tomllib
from datetime import datetime
from typing import Final

import pytest
import yaml
from tenure.server.audit.entry import GENESIS, AuditEntry, Position, encode_line

from tests.repository.command_lines import check_line, sentences
from tests.repository.pages import ROOT
from tests.repository.snippets import OUTPUT, PROOFS, SHELL, Snippet, commands, snippets

SNIPPETS: Final = snippets()
COMMANDS: Final = sorted({(s.page, line) for s in SNIPPETS if s.language in SHELL for line in commands(s)})
_RUN_AS_THEY_ARE: Final = ("docs/get-started/kubernetes.md", "docs/get-started/slurm.md")
"""Pages whose scripts a test runs on real clusters."""


def test_every_block_has_a_proof_and_every_proof_a_block() -> None:
    found = {(s.page, s.language) for s in SNIPPETS if s.language not in OUTPUT}
    assert found == {(page, language) for page, proofs in PROOFS.items() for language in proofs}


@pytest.mark.parametrize("proof", sorted({proof for proofs in PROOFS.values() for proof in proofs.values()}))
def test_proofs_exist(proof: str) -> None:
    file, _, name = proof.partition("::")
    assert re.search(rf"^def {name}\(", (ROOT / file).read_text(), re.MULTILINE)


@pytest.mark.parametrize("page", sorted({page for page, _ in COMMANDS}))
def test_commands_are_understood_by_their_programs(page: str) -> None:
    for line in (line for each, line in COMMANDS if each == page):
        try:
            if page not in _RUN_AS_THEY_ARE or line.startswith("tenure "):
                check_line(line)
        except Exception as problem:
            raise AssertionError(f"{line}: {problem!r}") from problem


SENTENCES: Final = {
    str(page.relative_to(ROOT)): sorted(set(sentences(page.read_text())))
    for folder in (".", "docs", "protos", "server", "client", "tests")
    for page in ROOT.glob("*.md" if folder == "." else f"{folder}/**/*.md")
}


@pytest.mark.parametrize("page", [page for page in sorted(SENTENCES) if SENTENCES[page]])
def test_commands_in_sentences_and_tables_are_understood_by_their_programs(page: str) -> None:
    for line in SENTENCES[page]:
        try:
            check_line(line, whole=False)
        except Exception as problem:
            raise AssertionError(f"{line}: {problem!r}") from problem


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
