"""Snapshots being pushed in chunks: merging, and a memory limit for all of them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from tenure.codec.checks import MISSING
from tenure.server.memory import RequestMemory
from tenure.server.settings.server import DEFAULT_ROWS, MaxRows
from tenure.server.state import errors
from tenure.server.state.memory_model import decoded_bytes, rows_of
from tenure.server.state.state import State
from tenure.server.state.versions import full_state
from tenure.terms.cancellation import no_check
from tenure.v1.snapshot_pb2 import ClusterSnapshot, PodColumns
from tenure.v1.state_pb2 import FAULTS_SET_ASIDE, PutSnapshotRequest
from tenure.wire.columns import check_structure, join_columns
from tenure.wire.deltas import HEADER, KEY_FIELDS
from tenure.wire.limits import RequestLimits
from tenure.wire.violations import FieldViolation, SnapshotValidationError, ViolationCollector

_MIB: Final = 2**20


class ChunkTooLarge(ValueError):
    """A chunk is larger than the server accepts. The message has the limit."""


class UploadMemory:
    """Counts the memory of all chunks that are not part of a state yet, as if they were decoded."""

    def __init__(
        self, memory: RequestMemory, max_state_bytes: int, max_chunk_mib: int, rows: MaxRows = DEFAULT_ROWS
    ) -> None:
        self.rows = rows
        self._memory = memory
        self._max_state_bytes = max_state_bytes
        self._max_chunk_mib = max_chunk_mib

    @contextmanager
    def open(self, caller: str = "") -> Iterator["Upload"]:
        """Open an upload of a caller; its memory is freed at the end of the block."""
        upload = Upload(self, caller)
        try:
            yield upload
        finally:
            self._memory.free(upload.caller, upload.memory_bytes)

    def reserve(self, upload: "Upload", chunk: PutSnapshotRequest) -> None:
        """Reserve memory for one more chunk.

        Raises ChunkTooLarge, StateError (the state is too large), MemoryExhausted or RequestTooLarge.
        """
        size = chunk.ByteSize()
        if size > self._max_chunk_mib * _MIB:
            problem = f"a chunk has {size:,} bytes, more than {self._max_chunk_mib} MiB"
            raise ChunkTooLarge(
                f"{problem}: send smaller chunks, or raise server.maxChunkMib in the configuration"
            )
        more = decoded_bytes(size, rows_of(chunk.chunk))
        if upload.memory_bytes + more > self._max_state_bytes:
            raise errors.too_large(upload.memory_bytes + more, self._max_state_bytes)
        self._memory.take(upload.caller, more, upload.memory_bytes)
        upload.memory_bytes += more


class Upload:
    """One push. Chunks only add rows; the first has the epoch and the header."""

    def __init__(self, uploads: UploadMemory, caller: str) -> None:
        self.caller = caller
        self._memory = uploads
        self._chunks = 0
        self._is_complete = False
        self._epoch = ""
        self._snapshot = ClusterSnapshot()
        self._columns: list[PodColumns] = []
        self._has_long_texts = False
        self.sets_aside = False
        """Whether invalid rows are set aside."""
        self.memory_bytes = 0

    def add(self, chunk: PutSnapshotRequest, *, has_long_texts: bool = False) -> None:
        """Merge one piece. Raises as `reserve` does, and SnapshotValidationError for columns."""
        self._memory.reserve(self, chunk)
        if self._is_complete:
            raise SnapshotValidationError([FieldViolation("last_chunk", "is set in a chunk before the last")])
        self._is_complete = chunk.last_chunk
        sets_aside = chunk.faults == FAULTS_SET_ASIDE
        if self._chunks and sets_aside != self.sets_aside:
            raise SnapshotValidationError([FieldViolation("faults", "differs from the first chunk")])
        findings = ViolationCollector(f"pieces[{self._chunks}].chunk.pod_columns")
        if self._chunks and (late := _late_fields(chunk, f"pieces[{self._chunks}]")):
            raise SnapshotValidationError(late)
        self._chunks += 1
        if not check_structure(chunk.chunk.pod_columns, findings):
            raise SnapshotValidationError(findings.violations())
        if chunk.chunk.pod_columns.uid:
            self._columns.append(chunk.chunk.pod_columns)
            chunk.chunk.ClearField("pod_columns")
        self._has_long_texts |= has_long_texts
        if self._chunks == 1:
            self._epoch, self.sets_aside = chunk.epoch, sets_aside
            self._snapshot.CopyFrom(chunk.chunk)
        else:
            for name in KEY_FIELDS:
                getattr(self._snapshot, name).extend(getattr(chunk.chunk, name))

    def state(self, texts: RequestLimits, check: Callable[[], None] = no_check) -> State:
        """State of all chunks. Raises SnapshotValidationError with paths in the whole snapshot.

        `check` raises when the call has ended.
        """
        problems = []
        if not self._epoch:
            problems.append(FieldViolation("epoch", f"{MISSING} in the first chunk"))
        if not self._is_complete:
            problems.append(FieldViolation("last_chunk", f"{MISSING} in the last chunk"))
        if problems:
            raise SnapshotValidationError(problems)
        self._snapshot.pod_columns.CopyFrom(join_columns(self._columns))
        limits = texts if self.sets_aside else None
        return full_state(
            *(self._epoch, self._snapshot, self._memory.rows),
            check=check,
            texts=limits,
            has_long_texts=self._has_long_texts,
        )


def _late_fields(request: PutSnapshotRequest, path: str) -> list[FieldViolation]:
    """Fields of a later chunk that only the first one has."""
    late = [f"{path}.epoch"] if request.epoch else []
    late += [f"{path}.chunk.{one.name}" for one, _ in request.chunk.ListFields() if one.name in HEADER]
    return [FieldViolation(field, "belongs in the first chunk: leave it out of later ones") for field in late]
