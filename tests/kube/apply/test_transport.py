"""What is sent only while the lease is ours is looked at once more right before it goes out."""

import pytest
from lightkube.core.exceptions import ConfigError
from tenure.client.kubernetes.failures import Broken, LeaseLost, Unreachable
from tenure.client.kubernetes.transport import Transport, while_leading

from tests.kube.apply.answering import Answer, ApiServer

Served = tuple[ApiServer, Transport]


@pytest.mark.parametrize("looks", [[False], [True, False]], ids=["at once", "while it connected"])
@pytest.mark.parametrize("is_connected", [False, True])
def test_a_lease_that_is_lost_before_the_first_byte_keeps_it_back(
    served: Served, looks: list[bool], is_connected: bool
) -> None:
    server, transport = served
    server.on("POST", "/x", Answer(201))
    if is_connected:
        transport.post("/x", {})
    sent, left = len(server.calls), iter(looks)
    with pytest.raises(LeaseLost), while_leading(lambda: next(left)):
        transport.post("/x", {})
    assert len(server.calls) == sent
    with while_leading(lambda: True):
        transport.post("/x", {})
    transport.post("/x", {})
    assert len(server.calls) == sent + 2


@pytest.mark.parametrize("problem", [ConfigError("Exec aws returned 255"), ValueError("no JSON"), OSError()])
def test_a_token_that_cannot_be_got_is_a_call_without_an_answer(
    served: Served, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    _, transport = served

    def fail(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr(transport._http, "send", fail)
    with pytest.raises(Unreachable):
        transport.get("/x")
    with pytest.raises(Unreachable), transport.lines("/x", {}, 1.0):
        pass


def test_an_answer_that_is_no_object_is_not_the_api_servers(served: Served) -> None:
    server, transport = served
    server.on("GET", "/x", Answer(200, "<html>"))
    with pytest.raises(Broken):
        transport.get("/x")
