"""docs/reference/errors.md lists every error that the server can return, and no other."""

import re
from pathlib import Path

import pytest
from tenure.client import errors as client_errors
from tenure.server import errors
from tenure.server.security import access_control
from tenure.server.service import error_mapping
from tenure.v1 import state_pb2

from tests.contract import error_triggers
from tests.contract.errors_page import PAGE, read_comments, read_page, state_error_codes

COMMON, OWN = read_page()


def test_page_and_comments_list_the_same_codes() -> None:
    assert read_comments() == (COMMON, OWN)


def test_every_method_is_documented() -> None:
    assert set(OWN) == set(error_triggers.RPCS)


def test_every_status_code_of_the_server_is_documented() -> None:
    sources = (Path(module.__file__ or "").read_text() for module in (errors, error_mapping, access_control))
    known = {code for source in sources for code in re.findall(r"StatusCode\.([A-Z_]+)", source)}
    assert known - {"UNIMPLEMENTED"} == COMMON.union(*OWN.values()) - {"UNIMPLEMENTED"}


def test_every_state_error_code_is_documented() -> None:
    known = {
        name.removeprefix("STATE_ERROR_CODE_") for name in state_pb2.StateErrorCode.DESCRIPTOR.values_by_name
    }
    assert state_error_codes() == known - {"UNSPECIFIED"}


@pytest.mark.parametrize("name", sorted(error_triggers.RPCS))
def test_method_returns_exactly_the_documented_codes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = {
        error_triggers.without_a_token(name, tmp_path),
        error_triggers.without_permission(name, tmp_path),
        error_triggers.compressed(name),
        error_triggers.too_large(name),
        error_triggers.beyond_its_time(name),
        error_triggers.after_shutdown(name),
        error_triggers.after_cancellation(name),
        error_triggers.with_internal_error(name, monkeypatch),
    }
    assert seen == COMMON
    monkeypatch.undo()
    assert error_triggers.invalid_requests(name) == OWN[name]


def test_every_exception_of_the_client_is_there() -> None:
    section = PAGE.read_text().partition("## Exceptions of the Python client\n")[2].partition("\n## ")[0]
    known = {kind.__name__ for kind in client_errors.TenureError.__subclasses__()}
    assert set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE)) == known
