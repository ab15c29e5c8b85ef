"""What is sent only while the lease is ours is looked at once more right before it goes out."""

import pytest
from tenure.client.kubernetes.failures import LeaseLost
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
