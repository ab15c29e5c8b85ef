"""The checkpoint file of a run: the response of every cycle, appended as the run goes on.

A run is deterministic, so these responses are all that it takes to come back to where it stopped: a run that
goes on reads them instead of deciding again, and decides from there. A file that ends within a block, after a
crash, is used up to the block before.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

import zstandard
from tenure.process.version import package_version
from tenure.simulator.decider import Decider
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta

MAGIC: Final = b"tenure-run 1\n"
RESPONSES_PER_BLOCK: Final = 256
MAX_BLOCK: Final = 1 << 30
"""Bytes of a block that is read."""
_SIZE: Final = 4


class CheckpointError(ValueError):
    """The file is no checkpoint of this run. The message says what to do."""


class Journal:
    """A decider that keeps what another one decides, and begins with what was kept before."""

    def __init__(self, path: Path, identity: str, decider: Decider) -> None:
        """`identity` names the inputs of the run. Raises CheckpointError, and OSError for the file."""
        self._decider = decider
        self._path = path
        self._pending: list[bytes] = []
        self._file, self._kept = _open(path, identity)
        self._kept_count = 0

    @property
    def restored(self) -> int:
        """Cycles that were not decided again."""
        return self._kept_count

    def decide(self, delta: StateDelta, snapshot: Callable[[], ClusterSnapshot]) -> DecideResponse:
        """The response that is kept for this cycle, else a new one."""
        kept = next(self._kept, None)
        if kept is not None:
            response = DecideResponse.FromString(kept)
            if response.header.version not in (0, delta.version):
                raise CheckpointError(f"{self._path} does not fit this run; delete it to start again")
            self._kept_count += 1
            return response
        response = self._decider.decide(delta, snapshot)
        self._pending.append(response.SerializeToString())
        if len(self._pending) >= RESPONSES_PER_BLOCK:
            self.flush()
        return response

    def flush(self) -> None:
        """Write what was decided since the last block."""
        if self._pending:
            sized = b"".join(len(content).to_bytes(_SIZE, "big") + content for content in self._pending)
            block = zstandard.compress(sized)
            self._file.write(len(block).to_bytes(_SIZE, "big") + block)
            self._file.flush()
            self._pending.clear()

    def close(self) -> None:
        """Write the rest and close the file."""
        self.flush()
        self._file.close()


def _open(path: Path, identity: str) -> tuple[BinaryIO, Iterator[bytes]]:
    """The file, at its end, and the responses in it."""
    head = MAGIC + json.dumps(f"{identity} {package_version()}").encode() + b"\n"
    if not path.exists() or not path.stat().st_size:
        started = path.open("wb")
        started.write(head)
        started.flush()
        return started, iter(())
    content = path.read_bytes()
    if not content.startswith(MAGIC):
        raise CheckpointError(f"{path} is no checkpoint of a run; choose another folder")
    if not content.startswith(head):
        raise CheckpointError(
            f"{path} is the checkpoint of a run with another trace, cluster, configuration or setting, or of "
            "another version of Tenure; choose another folder, or delete the file to start again"
        )
    end, blocks = len(head), []
    while len(content) >= end + _SIZE:
        size = int.from_bytes(content[end : end + _SIZE], "big")
        block = content[end + _SIZE : end + _SIZE + size]
        if len(block) < size:
            break
        blocks.append(block)
        end += _SIZE + size
    file = path.open("r+b")
    file.truncate(end)
    file.seek(end)
    return file, _responses(path, blocks)


def _responses(path: Path, blocks: list[bytes]) -> Iterator[bytes]:
    for block in blocks:
        try:
            content = zstandard.ZstdDecompressor().decompress(block, max_output_size=MAX_BLOCK)
        except zstandard.ZstdError:
            raise CheckpointError(f"{path} is damaged; delete it to start again") from None
        at = 0
        while at < len(content):
            size = int.from_bytes(content[at : at + _SIZE], "big")
            yield content[at + _SIZE : at + _SIZE + size]
            at += _SIZE + size
