"""The pictures of the architecture are what the code gives, and their arrows are its imports."""

import pytest

from tests.contract.pages.architecture_pictures import FOLDER, UPDATE, Picture, arrows, draw, pictures


@pytest.mark.interpreted
@pytest.mark.parametrize("name", ["packages.svg", "solver.svg", "server.svg"])
def test_picture_is_what_the_code_gives(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == draw(pictures()[name]), UPDATE


def test_arrows_are_imports_that_no_chain_implies() -> None:
    imports = {"a": frozenset({"b", "c"}), "b": frozenset({"c"}), "c": frozenset[str]()}
    assert sorted(arrows(Picture("", (("a",), ("b",), ("c",)), imports))) == [("a", "b"), ("b", "c")]


@pytest.mark.interpreted
def test_real_imports_are_found() -> None:
    assert {"server", "solver", "codec"} <= {
        name.rpartition(".")[2] for name in pictures()["packages.svg"].imports["tenure.cli"]
    }
    assert pictures()["solver.svg"].imports["model"] == frozenset()
