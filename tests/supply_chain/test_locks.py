"""Locks pin everything with hashes, satisfy pyproject.toml, and are what is installed."""

import re
import tomllib
from collections.abc import Iterator

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packaging.dockerfile import arguments_of
from tests.supply_chain.licenses import PAGE, is_permissive
from tests.supply_chain.locks import lock_names, read_lock
from tests.supply_chain.others import DEBIAN, go_modules
from tests.tools.tool import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SLURM = tomllib.loads((ROOT / "client/tenure-slurm/pyproject.toml").read_text())
ADAPTER = tomllib.loads((ROOT / "client/tenure-kubernetes/pyproject.toml").read_text())
OWN = {"tenure", "tenure-kubernetes", "tenure-slurm"}


def of_extras(*extras: str) -> Iterator[str]:
    """Requirements of extras, and of the extras that they name."""
    for extra in extras:
        for line in PROJECT["project"]["optional-dependencies"][extra]:
            requirement = Requirement(line)
            yield from of_extras(*requirement.extras) if requirement.name in OWN else [line]


RUNTIME = [*PROJECT["project"]["dependencies"], *ADAPTER["project"]["dependencies"]]
GROUPS = PROJECT["dependency-groups"]
REQUIRED = {
    "image.txt": [*RUNTIME, *of_extras("console", "telemetry")],
    "development.txt": [*RUNTIME, *SLURM["project"]["dependencies"], *of_extras("dev"), *GROUPS["build"]],
    "build.txt": GROUPS["build"],
    "release.txt": [*GROUPS["release"], *GROUPS["build"]],
}


def test_all_locks_are_known() -> None:
    assert lock_names() == sorted(REQUIRED)


@pytest.mark.parametrize("name", REQUIRED)
def test_lock_satisfies_pyproject(name: str) -> None:
    pins = read_lock(name)
    requirements = [Requirement(line) for line in REQUIRED[name]]
    wrong = [
        str(each)
        for each in requirements
        if canonicalize_name(each.name) not in OWN
        and not each.specifier.contains(pins[canonicalize_name(each.name)].version, prereleases=True)
    ]
    assert wrong == [], "make lock"


@pytest.mark.parametrize("name", REQUIRED)
def test_every_pin_has_hashes(name: str) -> None:
    pins = read_lock(name)
    assert len(pins) >= 5
    assert [pin.name for pin in pins.values() if not pin.hashes] == []
    assert OWN.isdisjoint(pins)


@pytest.mark.parametrize("name", ["image.txt", "build.txt"])
def test_image_has_the_versions_that_tests_ran_with(name: str) -> None:
    tested = read_lock("development.txt")
    different = {pin.name for pin in read_lock(name).values() if pin.version != tested[pin.name].version}
    assert different == set()


def test_page_of_licenses_lists_every_lock_the_base_of_the_image_and_the_modules_of_go() -> None:
    listed = re.findall(r"^\| ([\w./+-]+) \| \S.* \|$", PAGE.read_text(), re.MULTILINE)
    pins = {name for lock in lock_names() for name, pin in read_lock(lock).items() if pin.is_for_linux()}
    assert {*listed} - {"package"} == {*pins, *DEBIAN, *go_modules()}


def test_image_installs_only_what_is_locked() -> None:
    (command,) = arguments_of("RUN")
    installs = [step for step in command.split("&&") if " install " in step]
    assert len(installs) == 3
    for step in installs:
        assert "--require-hashes -r docker/locks/" in " ".join(step.split()) or "--no-index --no-deps" in step
    assert "--no-build-isolation" in command


def test_development_and_release_environments_install_only_what_is_locked() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in (".venv/ready", ".venv-compiled/ready", ".venv-release/ready"):
        recipe = re.search(rf"^{re.escape(target)}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
        assert recipe
        installs = [line for line in recipe[1].splitlines() if "pip install" in line]
        assert "--require-hashes" in installs[0]
        assert all("--no-deps --no-build-isolation" in line for line in installs[1:])


@pytest.mark.parametrize(
    ("expression", "permitted"),
    [
        ("MIT", True),
        ("Apache-2.0 OR GPL-3.0", True),
        ("MIT AND BSD-3-Clause", True),
        ("MIT AND GPL-3.0", False),
        ("MPL-2.0", False),
        ("UNKNOWN", False),
    ],
)
def test_licenses_that_permit_distribution(expression: str, permitted: bool) -> None:
    assert is_permissive(expression) == permitted
