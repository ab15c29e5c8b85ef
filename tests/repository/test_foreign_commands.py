"""Commands of kubectl, helm and HAProxy on pages have options that these programs know."""

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.kubernetes.environment.binaries import required_helm, required_kubectl
from tests.repository.pages import ROOT
from tests.repository.snippets import SHELL, commands, snippets
from tests.tools.catalog import haproxy

COMMANDS: Final = sorted({line for each in snippets() if each.language in SHELL for line in commands(each)})
_PLUGINS: Final = ("kubectl tenure ", "kubectl krew ")
"""Options of plugins are not those of kubectl: tests/kubernetes/kubectl, tests/e2e/cluster/test_krew.py."""
_PARTS: Final = ("kubectl patch ",)
"""Begin a text of several lines; a test runs the page."""


def lines_of(program: str) -> list[str]:
    named = (line for line in COMMANDS if line.startswith(f"{program} "))
    return [line for line in named if not line.startswith((*_PLUGINS, *_PARTS))]


def check_options(program: Path, line: str) -> None:
    """Let a program parse the options of a command, and print its help instead of running it."""
    words = shlex.split(line.partition("|")[0])[1:]
    ended = subprocess.run([program, *words, "--help"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{line}: {ended.stderr}"


@pytest.mark.kube
@pytest.mark.parametrize(
    ("name", "required", "wrong"),
    [
        ("kubectl", required_kubectl, "kubectl get pods --nothing"),
        ("helm", required_helm, "helm install tenure --nothing"),
    ],
)
def test_program_knows_the_options_on_pages(name: str, required: Callable[[], Path], wrong: str) -> None:
    program = required()
    for line in lines_of(name):
        check_options(program, line)
    with pytest.raises(AssertionError, match=wrong):
        check_options(program, wrong)


def test_haproxy_accepts_the_configuration_on_the_page() -> None:
    program = haproxy()
    if program is None:
        pytest.skip("HAProxy is missing: python -m tests build haproxy")
    (line,) = lines_of("haproxy")
    ended = subprocess.run(
        [program, "-c", *shlex.split(line)[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


def test_commands_of_these_programs_are_found() -> None:
    assert (len(lines_of("kubectl")), len(lines_of("helm"))) > (15, 5)
