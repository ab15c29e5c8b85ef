"""The version has one source, and workflows name actions by commits."""

import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.repository.pages import ROOT, make_targets

FILES = (
    "pyproject.toml",
    "client/tenure-kubernetes/pyproject.toml",
    "client/tenure-slurm/pyproject.toml",
    "docker/helm/tenure/Chart.yaml",
    "docker/manifests/kustomization.yaml",
    "docker/manifests/tenure.yaml",
    "docs/operate/install.md",
    "docker/release/version.py",
    "CHANGELOG.md",
)
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
JOBS_OF_CI = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, str(folder / "docker/release/version.py"), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_all_places_have_the_version_of_pyproject() -> None:
    assert run(ROOT) == (0, "")


def test_a_new_version_reaches_all_places_and_the_changelog(copy: Path) -> None:
    assert run(copy, "--set", "1.22.333") == (0, "")
    assert tomllib.loads((copy / "pyproject.toml").read_text())["project"]["version"] == "1.22.333"
    assert yaml.safe_load((copy / "docker/helm/tenure/Chart.yaml").read_text())["appVersion"] == "1.22.333"
    assert run(copy, "--tag", "v1.22.333") == (0, "")
    assert re.search(
        r"## Unreleased\n\n## 1\.22\.333 - \d{4}-\d\d-\d\d\n", (copy / "CHANGELOG.md").read_text()
    )


def test_chart_of_a_release_candidate_has_a_semantic_version(copy: Path) -> None:
    assert run(copy, "--set", "0.2.0rc1") == (0, "")
    chart = yaml.safe_load((copy / "docker/helm/tenure/Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == ("0.2.0-rc1", "0.2.0rc1")
    assert run(copy, "--tag", "v0.2.0rc1") == (0, "")
    assert run(copy, "--set", "0.2.0") == (0, "")
    assert yaml.safe_load((copy / "docker/helm/tenure/Chart.yaml").read_text())["version"] == "0.2.0"


def test_notes_are_what_the_changelog_says_of_the_version(copy: Path) -> None:
    assert run(copy, "--set", "0.2.0") == (0, "")
    text = "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-01-31\n\n{}## 0.1.0 - 2026-01-01\n\nMore.\n"
    (copy / "CHANGELOG.md").write_text(text.format("### Added\n\n- This.\n\n"))
    assert run(copy, "--notes") == (0, "### Added\n\n- This.\n")
    (copy / "CHANGELOG.md").write_text(text.format(""))
    assert run(copy, "--notes") == (1, "\n")


@pytest.mark.parametrize(
    ("tag", "released"), [("v0.2.0", True), ("v1.22.333rc10", True), ("v0.2", False), ("v0.2.0b1", False)]
)
def test_tags_that_are_released(tag: str, released: bool) -> None:
    patterns = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())[True]["push"]["tags"]
    assert any(re.fullmatch(pattern.replace(".", r"\."), tag) for pattern in patterns) == released


def test_wheel_needs_the_lowest_library_of_its_tags_and_has_a_bill_of_its_own() -> None:
    program = runpy.run_path(str(ROOT / "docker/release/build.py"))
    tagged = "tenure-0.2.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64"
    newer = "tenure-0.2.0-cp311-cp311-manylinux_2_39_x86_64.whl"
    assert (
        program["library_of"](f"{tagged}.whl") == (2, 17) <= program["OLDEST"] < program["library_of"](newer)
    )
    assert program["bill_of"](Path(f"d/{tagged}.whl")) == Path(f"d/{tagged}.cdx.json")
    assert program["bill_of"](Path("d/tenure-0.2.0-py3-none-any.whl")) == Path("d/tenure-0.2.0.cdx.json")


def test_pure_wheel_of_tenure_is_not_on_the_index(tmp_path: Path) -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    (script,) = [step["run"] for step in jobs["publish"]["steps"] if "packages" in step.get("run", "")]
    published = {
        "tenure-0.2.0-cp311-cp311-manylinux_2_17_x86_64.whl",
        *(
            f"tenure_{name}-0.2.0{end}"
            for name in ("slurm", "kubernetes")
            for end in ("-py3-none-any.whl", ".tar.gz")
        ),
        "tenure-0.2.0.tar.gz",
    }
    (tmp_path / "dist").mkdir()
    for name in (
        *published,
        "tenure-0.2.0-py3-none-any.whl",
        "tenure-0.2.0.tgz",
        "SHA256SUMS",
        "site-0.2.0.tar.gz",
    ):
        (tmp_path / "dist" / name).touch()
    subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, check=True)
    assert {path.name for path in (tmp_path / "packages").iterdir()} == published


def test_versions_of_the_site_are_in_the_order_of_releases() -> None:
    program = runpy.run_path(str(ROOT / "docker/site/build.py"))
    given = ["0.2.0rc1", "0.10.0", "0.2.0", "0.2.0rc2"]
    assert program["newest_first"](given) == ["0.10.0", "0.2.0", "0.2.0rc2", "0.2.0rc1"]


@pytest.mark.parametrize("name", ["client/tenure-kubernetes/pyproject.toml", "docker/helm/tenure/Chart.yaml"])
def test_place_with_another_version_is_named(copy: Path, name: str) -> None:
    version = tomllib.loads((copy / "pyproject.toml").read_text())["project"]["version"]
    (copy / name).write_text((copy / name).read_text().replace(version, "9.9.9"))
    code, output = run(copy)
    assert (code, f"{name}: 9.9.9 instead of {version}" in output) == (1, True)


def test_tag_of_another_version_and_without_notes_is_rejected(copy: Path) -> None:
    code, output = run(copy, "--tag", "v9.9.9")
    assert (code, "the tag is v9.9.9" in output, "CHANGELOG.md has no notes" in output) == (1, True, True)


def test_what_is_no_version_is_rejected(copy: Path) -> None:
    code, output = run(copy, "--set", "next")
    assert (code, "'next' is not a version such as 0.2.0" in output) == (2, True)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit_with_their_version(workflow: Path) -> None:
    uses = re.findall(r"uses: (.*)", workflow.read_text())
    assert uses
    assert [one for one in uses if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+", one)] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_containers_are_pinned_and_debian_12(workflow: Path) -> None:
    jobs = yaml.safe_load(workflow.read_text())["jobs"].values()
    images = [job["container"]["image"] for job in jobs if "container" in job]
    assert [one for one in images if not re.fullmatch(r"debian:12@sha256:[0-9a-f]{64}", one)] == []


def test_ci_can_build_the_image_and_start_slurm() -> None:
    (check,) = [
        job for job in JOBS_OF_CI.values() if "bash .ci/run" in [step.get("run") for step in job["steps"]]
    ]
    assert "--privileged" in check["container"]["options"].split()


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_what_exists(workflow: Path) -> None:
    text = workflow.read_text()
    assert set(re.findall(r"\bmake ([\w./-]+)", text)) <= make_targets()
    assert [
        name for name in re.findall(r"(docker/[\w/]+\.py|\.ci/\w+)", text) if not (ROOT / name).exists()
    ] == []


def test_only_steps_that_publish_have_rights() -> None:
    for workflow in WORKFLOWS:
        content = yaml.safe_load(workflow.read_text())
        assert content["permissions"] == {}
        writing = {
            name for name, job in content["jobs"].items() if "write" in set(job["permissions"].values())
        }
        assert writing == ({"attest", "publish", "registry", "page"} if workflow.stem == "release" else set())
