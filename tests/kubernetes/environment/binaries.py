"""Find the programs of a control plane: in KUBEBUILDER_ASSETS, or those of the tool `kubeapi`."""

import os
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import pytest

from tests.checks import CannotRun

ROOT: Final = Path(__file__).parents[3]
"""The root of the checkout."""
BUILT: Final = ROOT / ".cache/kubeapi/bin"
NO_CONTROLLERS: Final = "kube-controller-manager is missing: `python -m tests build kubeapi`"
HOW: Final = "kube-apiserver and etcd are missing: `python -m tests build kubeapi`, or set KUBEBUILDER_ASSETS"


class Binaries(NamedTuple):
    """Paths of the two programs."""

    etcd: Path
    api_server: Path


def _folder() -> Path:
    return Path(os.environ.get("KUBEBUILDER_ASSETS") or BUILT)


def find() -> Binaries | None:
    """Return the programs, or None if one of them is missing."""
    found = Binaries(_folder() / "etcd", _folder() / "kube-apiserver")
    return found if all(os.access(path, os.X_OK) for path in found) else None


def available() -> Binaries:
    """Return the programs for a check. Raises CannotRun if one is missing."""
    found = find()
    if found is None:
        raise CannotRun(HOW)
    return found


def required() -> Binaries:
    """Return the programs. Skips the test if one is missing; with REQUIRE_KUBE=1 that is a failure."""
    found = find()
    if found is None:
        _skip(HOW)
    return found


def required_controller_manager() -> Path:
    """Return kube-controller-manager, likewise. KUBEBUILDER_ASSETS of the project itself lack it."""
    found = _folder() / "kube-controller-manager"
    if not os.access(found, os.X_OK):
        _skip(NO_CONTROLLERS)
    return found


def _skip(why: str) -> NoReturn:
    (pytest.fail if os.environ.get("REQUIRE_KUBE") == "1" else pytest.skip)(why)
