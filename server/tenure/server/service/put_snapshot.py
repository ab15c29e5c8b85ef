"""PutSnapshot: a full snapshot in pieces, kept in place of what was there once all of it has come."""

from collections.abc import Iterator

import grpc
from tenure.server.collecting import settling
from tenure.server.service.shared import Shared
from tenure.v1.state_pb2 import PutSnapshotRequest, PutSnapshotResponse


def put_snapshot(
    shared: Shared, pieces: Iterator[PutSnapshotRequest], context: grpc.ServicerContext
) -> PutSnapshotResponse:
    """The state that the pieces make. A call that breaks off in between keeps nothing of it."""
    with shared.uploads.open() as upload:
        for piece in pieces:
            upload.add(piece)
        with settling():
            state = upload.state()
            shared.engine.prepare(state.cluster, state.opening)
    shared.states.put(state)
    shared.pushes.remember(state.reference)
    return PutSnapshotResponse(state=state.reference)
