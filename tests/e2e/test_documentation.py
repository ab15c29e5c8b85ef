"""Examples in the documentation run, and its links have targets."""

import re
import sys
from pathlib import Path

import pytest
from tenure.cli.configuration.verdict import check_file
from tenure.cli.live.demo import server_process
from tenure.server.settings import load_settings
from tenure.server.settings.configuration import Configuration

from tests.e2e.command import ROOT, SAMPLE, run_command

FOLDERS = ("docs", "protos", "server", "client", "tests")
PAGES = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))])


def example(page: str, language: str) -> str:
    """Return the first code block of a language on a page."""
    found = re.search(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert found, f"{page} has no {language} example"
    return found[1]


@pytest.mark.parametrize(
    ("page", "expected_texts"),
    [
        ("README.md", ["preempt: Pod backfill-us-0", "nightly-eval: Pod group nightly-eval"]),
        ("docs/integrate/python.md", []),
    ],
)
def test_python_examples_run_against_a_server(page: str, expected_texts: list[str], tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    with server_process() as address:
        code = example(page, "python").replace("127.0.0.1:50051", address)
        script.write_text(code.replace("cluster.yaml", str(SAMPLE)))
        ran = run_command(sys.executable, str(script), folder=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [text for text in expected_texts if text not in ran.stdout] == []


def test_readme_commands_run_the_demo_and_the_tests() -> None:
    commands = re.findall(r"^make (\w+)", example("README.md", "sh"), re.MULTILINE)
    assert commands == ["demo", "test"]
    assert re.search(r"tenure demo\n(.*\n)*.*pytest", run_command("make", "--dry-run", *commands).stdout)


SERVER_KEYS = {str(field.alias) for field in Configuration.model_fields.values()}
CONFIGURATIONS = [
    "docs/operate/monitoring.md",
    "docs/operate/security.md",
    "docs/operate/slurm-adapter.md",
    "docs/reference/configuration.md",
    "docs/reference/guards.md",
    "docs/reference/metrics.md",
    "docs/use/outside-traces.md",
    "docs/use/play.md",
    "docs/use/reservations.md",
    "docs/use/simulate.md",
    "docs/use/sweep.md",
    "docs/use/tune-placement.md",
]
"""Pages with configurations of the server. The page about guards of other packages has a test of its own."""


def configurations(page: Path) -> list[str]:
    """Return the YAML blocks of a page that are configurations of the server."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    return [block for block in blocks if set(re.findall(r"^(\w+):", block, re.MULTILINE)) <= SERVER_KEYS]


def test_every_configuration_in_the_documentation_is_valid(tmp_path: Path) -> None:
    pages = {str(page.relative_to(ROOT)): configurations(page) for page in PAGES}
    assert [name for name in sorted(pages) if pages[name]] == ["docs/extend/guards.md", *CONFIGURATIONS]
    for name in CONFIGURATIONS:
        for number, text in enumerate(pages[name]):
            file = tmp_path / f"{number}.yaml"
            file.write_text(text)
            assert (name, check_file(file).errors) == (name, ())


def test_the_example_configuration_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "tenure.yaml"
    file.write_text(example("docs/reference/configuration.md", "yaml"))
    settings = load_settings(file)
    arguments = {plugin.name: dict(plugin.arguments) for plugin in settings.profile.plugins}
    assert arguments["minruntime"]["defaultReclaimMinRuntime"] == "10m"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text())
    broken = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert broken == []
