"""The page of the contract tells every error that the server can answer, and no other."""

import re
from pathlib import Path

import pytest
from tenure.server import errors
from tenure.server.security import authentication
from tenure.server.service import failures
from tenure.v1 import state_pb2

from tests.contract import provoked
from tests.contract.errors_page import comments, fault_codes, page

COMMON, OWN = page()


def test_page_and_comments_tell_the_same() -> None:
    assert comments() == (COMMON, OWN)


def test_every_method_is_there() -> None:
    assert set(OWN) == set(provoked.RPCS)


def test_every_code_that_the_server_knows_is_there() -> None:
    sources = (Path(module.__file__ or "").read_text() for module in (errors, failures, authentication))
    known = {code for source in sources for code in re.findall(r"StatusCode\.([A-Z_]+)", source)}
    assert known - {"UNIMPLEMENTED"} == COMMON.union(*OWN.values()) - {"UNIMPLEMENTED"}


def test_every_fault_of_a_delta_is_there() -> None:
    known = {
        name.removeprefix("STATE_FAULT_CODE_") for name in state_pb2.StateFaultCode.DESCRIPTOR.values_by_name
    }
    assert fault_codes() == known - {"UNSPECIFIED"}


@pytest.mark.parametrize("name", sorted(provoked.RPCS))
def test_method_ends_with_what_the_page_tells(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = {
        provoked.without_a_token(name, tmp_path),
        provoked.compressed(name),
        provoked.too_large(name),
        provoked.beyond_its_time(name),
        provoked.at_the_end(name),
        provoked.abandoned(name),
        provoked.with_a_defect(name, monkeypatch),
    }
    assert seen == COMMON
    monkeypatch.undo()
    assert provoked.own(name) == OWN[name]
