"""PutSnapshot: a full snapshot in pieces, kept in place of what was there once all of it has come."""

from collections.abc import Iterator

import grpc
from tenure.server.service.shared import Shared
from tenure.v1.state_pb2 import PutSnapshotRequest, PutSnapshotResponse


def put_snapshot(
    shared: Shared, pieces: Iterator[PutSnapshotRequest], context: grpc.ServicerContext
) -> PutSnapshotResponse:
    """The state that the pieces make. A call that breaks off in between keeps nothing of it."""
    with shared.uploads.open() as upload:
        for piece in pieces:
            upload.add(piece)
        state = upload.state()
    shared.states.put(state)
    shared.pushes.remember(state.reference)
    return PutSnapshotResponse(state=state.reference)
