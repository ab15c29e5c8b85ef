"""Find kube-apiserver and etcd: in KUBEBUILDER_ASSETS, or those of the tool `kubeapi`."""

import os
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.checks import CannotRun

ROOT: Final = Path(__file__).parents[3]
"""The root of the checkout."""
BUILT: Final = ROOT / ".cache/kubeapi/bin"
HOW: Final = "kube-apiserver and etcd are missing: `python -m tests build kubeapi`, or set KUBEBUILDER_ASSETS"


class Binaries(NamedTuple):
    """Paths of the two programs."""

    etcd: Path
    api_server: Path


def find() -> Binaries | None:
    """Return the programs, or None if one of them is missing."""
    folder = Path(os.environ.get("KUBEBUILDER_ASSETS") or BUILT)
    found = Binaries(folder / "etcd", folder / "kube-apiserver")
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
        (pytest.fail if os.environ.get("REQUIRE_KUBE") == "1" else pytest.skip)(HOW)
    return found
