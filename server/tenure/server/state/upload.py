"""Snapshots on their way in pieces: what is merged so far, and how much memory all of them may take."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tenure.server.codec.checks import MISSING
from tenure.server.codec.columns import check_structure
from tenure.server.codec.violations import FieldViolation, Findings, InvalidSnapshot
from tenure.server.settings.server import DEFAULT_ROWS, MaxRows
from tenure.server.state import faults
from tenure.server.state.columns import joined
from tenure.server.state.overlay import KEY_FIELDS
from tenure.server.state.state import State, full_state
from tenure.v1.snapshot_pb2 import ClusterSnapshot, PodColumns
from tenure.v1.state_pb2 import PutSnapshotRequest

_MIB: Final = 2**20


class TooMuchUploading(Exception):
    """Other snapshots that are on their way take all the room. Retry later."""


class PieceTooLarge(ValueError):
    """A piece is larger than the server accepts. Names the limit."""


class Uploads:
    """Counts the bytes of all pieces that are held and no state yet, as messages."""

    def __init__(self, max_bytes: int, max_piece_mib: int, rows: MaxRows = DEFAULT_ROWS) -> None:
        self.rows = rows
        self._max_bytes = max_bytes
        self._max_piece_mib = max_piece_mib
        self._bytes = 0
        self._changing = threading.Lock()

    @property
    def bytes(self) -> int:
        """Bytes of pieces that are held now."""
        return self._bytes

    @contextmanager
    def open(self) -> Iterator["Upload"]:
        """One snapshot on its way; its pieces are let go at the end, whatever became of it."""
        upload = Upload(self)
        try:
            yield upload
        finally:
            with self._changing:
                self._bytes -= upload.size

    def reserve(self, upload: "Upload", size: int) -> None:
        """Room for one more piece. Raises PieceTooLarge, Fault (all is too large) or TooMuchUploading."""
        if size > self._max_piece_mib * _MIB:
            told = f"a piece has {size:,} bytes, more than {self._max_piece_mib} MiB"
            raise PieceTooLarge(f"{told}: send smaller ones, or raise server.maxPartMib in the configuration")
        with self._changing:
            if upload.size + size > self._max_bytes:
                raise faults.too_large(upload.size + size, self._max_bytes)
            if self._bytes + size > self._max_bytes:
                raise TooMuchUploading
            self._bytes += size
            upload.size += size


class Upload:
    """One snapshot on its way. Pieces only add rows; the first brings the epoch and the header."""

    def __init__(self, uploads: Uploads) -> None:
        self._uploads = uploads
        self._pieces = 0
        self._is_complete = False
        self._epoch = ""
        self._whole = ClusterSnapshot()
        self._columns: list[PodColumns] = []
        self.size = 0

    def add(self, piece: PutSnapshotRequest) -> None:
        """Merge one piece. Raises InvalidSnapshot (columns do not fit together) and what `reserve` raises."""
        self._uploads.reserve(self, piece.ByteSize())
        if self._is_complete:
            raise InvalidSnapshot([FieldViolation("last", "is set in a piece that is not the last")])
        self._is_complete = piece.last
        findings = Findings(f"pieces[{self._pieces}].part.pod_columns")
        self._pieces += 1
        if not check_structure(piece.part.pod_columns, findings):
            raise InvalidSnapshot(findings.in_order())
        if piece.part.pod_columns.uid:
            self._columns.append(piece.part.pod_columns)
            piece.part.ClearField("pod_columns")
        if self._pieces == 1:
            self._epoch = piece.epoch
            self._whole.CopyFrom(piece.part)
        else:
            for name in KEY_FIELDS:
                getattr(self._whole, name).extend(getattr(piece.part, name))

    def state(self) -> State:
        """The state that all pieces make. Raises InvalidSnapshot with paths in the whole snapshot."""
        problems = []
        if not self._epoch:
            problems.append(FieldViolation("epoch", f"{MISSING} in the first piece"))
        if not self._is_complete:
            problems.append(FieldViolation("last", f"{MISSING} in the last piece"))
        if problems:
            raise InvalidSnapshot(problems)
        self._whole.pod_columns.CopyFrom(joined(self._columns))
        return full_state(self._epoch, self._whole, self._uploads.rows)
