"""Requests that require the lease are checked again immediately before they are sent."""

import pytest
from lightkube.core.exceptions import ConfigError
from tenure.integration.ports import LeaseLost
from tenure.kubernetes.api.api_errors import ApiError, ApiServerError, Unreachable
from tenure.kubernetes.api.transport import Transport, require_leadership

from tests.kubernetes.apply.scripted_api_server import ScriptedApiServer, ScriptedResponse
from tests.kubernetes.fake_api_server.server import FakeApiServer

Served = tuple[ScriptedApiServer, Transport]


@pytest.mark.parametrize("looks", [[False], [True, False]], ids=["at once", "while it connected"])
@pytest.mark.parametrize("is_connected", [False, True])
def test_request_is_not_sent_when_the_lease_is_lost_before_its_first_byte(
    scripted_server: Served, looks: list[bool], is_connected: bool
) -> None:
    server, transport = scripted_server
    server.on("POST", "/x", ScriptedResponse(201))
    if is_connected:
        transport.post("/x", {})
    sent, left = len(server.calls), iter(looks)
    with pytest.raises(LeaseLost), require_leadership(lambda: next(left)):
        transport.post("/x", {})
    assert len(server.calls) == sent
    with require_leadership(lambda: True):
        transport.post("/x", {})
    transport.post("/x", {})
    assert len(server.calls) == sent + 2


@pytest.mark.parametrize("problem", [ConfigError("Exec aws returned 255"), ValueError("no JSON"), OSError()])
def test_unavailable_token_means_unreachable_api_server(
    scripted_server: Served, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    _, transport = scripted_server

    def fail(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr(transport._http, "send", fail)
    with pytest.raises(Unreachable):
        transport.get("/x")
    with pytest.raises(Unreachable), transport.lines("/x", {}, 1.0):
        pass


@pytest.mark.parametrize(
    "body", [b"<html>", b'{"kind": "Pod"', b'{"kind": \x17\x03}', b'{"kind": "\xff"}', b'{"kind": "Pod"}{}']
)
def test_response_that_is_not_an_object_is_an_api_server_error(scripted_server: Served, body: bytes) -> None:
    server, transport = scripted_server
    server.on("GET", "/x", ScriptedResponse(200, body))
    with pytest.raises(ApiServerError):
        transport.get("/x")


@pytest.mark.parametrize(
    ("statuses", "calls"),
    [((503,), 2), ((429, 500, 503), 4), ((503,) * 5, 4), ((403,), 1), ((404,), 1)],
    ids=["fails once", "fails three times", "fails", "refuses", "has no such object"],
)
def test_patient_read_is_repeated_while_the_api_server_fails(
    api: FakeApiServer, transport: Transport, statuses: tuple[int, ...], calls: int
) -> None:
    path = "/api/v1/namespaces/team"
    for status in statuses:
        api.faults.refuse("GET", path, status)
    api.calls.clear()
    if len(statuses) >= calls:
        with pytest.raises(ApiError, match=str(statuses[0])):
            transport.get_patiently(path)
    else:
        assert transport.get_patiently(path) == transport.get(path)
        del api.calls[-1]
    assert [call.path for call in api.calls] == [path] * calls
