"""GetState: a kept state in pieces, as it could be pushed again."""

from collections.abc import Iterator

import grpc
from tenure.client.pieces import parts
from tenure.server.service.shared import Shared
from tenure.server.state import faults
from tenure.v1.state_pb2 import GetStateRequest, GetStateResponse, StateReference


def get_state(
    shared: Shared, request: GetStateRequest, context: grpc.ServicerContext
) -> Iterator[GetStateResponse]:
    """The newest version of the state, which a delta that comes meanwhile does not change. Raises Fault."""
    shard = (request.cluster_id, request.node_pool)
    state = shared.states.newest(StateReference(cluster_id=shard[0], node_pool=shard[1]))
    if state is None:
        raise faults.nothing_kept(*shard)
    ahead = parts(state.snapshot)
    response = GetStateResponse(state=state.reference, part=next(ahead))
    for part in ahead:
        yield response
        response = GetStateResponse(part=part)
    response.last = True
    yield response
