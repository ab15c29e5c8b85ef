"""The version that a process reports."""

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError

import pytest
from tenure.process import version


@pytest.fixture(autouse=True)
def _read_anew() -> Iterator[None]:
    version.package_version.cache_clear()
    yield
    version.package_version.cache_clear()


def test_version_is_that_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "version", lambda name: f"1.2.3 of {name}")
    assert version.package_version() == "1.2.3 of tenure"


def test_code_that_is_not_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(version, "version", missing)
    assert version.package_version() == "unknown"


def test_form_of_a_module_is_known() -> None:
    assert version.is_compiled("msgspec._core")
    assert not version.is_compiled("tenure.process.version")
    assert not version.is_compiled("tenure.process.nothing")
