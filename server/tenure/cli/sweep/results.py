"""The folder of a sweep: one JSON file for each run that is done, and the configuration of each point."""

import json
import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

import yaml
from tenure.cli.sweep.single_run import SingleRun
from tenure.simulator.jobs import TraceError
from tenure.simulator.sweeps.study import Point

_DIGITS: Final = 8
_OWNER_ONLY: Final = 0o600
_READABLE: Final = 0o644


class ResultFolder:
    """Results by the digest of their inputs, so that an equal run is not executed again."""

    def __init__(self, path: Path) -> None:
        """The folder must exist before anything is written."""
        self.path = path

    def copy_of(self, records: Path) -> Path:
        """Where the copy of a records file is, which all runs play: a server may go on writing the file."""
        digest = sha256(os.fsencode(records.resolve())).hexdigest()[:_DIGITS]
        return self.path / f"{records.stem}-{digest}.sqlite"

    def keep_copy(self, records: Path, content: bytes) -> None:
        """Write the copy of a records file, once; like the file, only its owner can read it."""
        if not self.copy_of(records).exists():
            self._write(self.copy_of(records), content, _OWNER_ONLY)

    def has(self, run: SingleRun) -> bool:
        """Whether the run is done."""
        return self._file(run).exists()

    def keep(self, run: SingleRun, content: bytes) -> None:
        """Write a result, whole or not at all."""
        self._write(self._file(run), content)

    def read(self, run: SingleRun) -> dict[str, Any]:
        """The JSON of a run that is done. Raises TraceError if the file is damaged."""
        try:
            found: dict[str, Any] = json.loads(self._file(run).read_bytes())
        except ValueError:
            raise TraceError(f"{self._file(run)} is damaged; delete it to play its run again") from None
        return found

    def write_configurations(self, points: Sequence[Point], base: Mapping[str, Any]) -> None:
        """Write `point-1.yaml` and so on, for `tenure serve --config`; quotas are noted."""
        for point in points:
            noted = [f"# Queue {queue}: quota of {gpus:g} GPUs\n" for queue, gpus in point.quotas.items()]
            content = yaml.safe_dump(point.configuration(base), sort_keys=False, allow_unicode=True)
            self._write(self.configuration(point), ("".join(noted) + content).encode())

    def configuration(self, point: Point) -> Path:
        """The file with the configuration of a point."""
        return self.path / f"point-{point.number}.yaml"

    def _file(self, run: SingleRun) -> Path:
        return self.path / f"{run.digest}.json"

    def _write(self, path: Path, content: bytes, mode: int = _READABLE) -> None:
        with NamedTemporaryFile(dir=self.path, prefix=".", delete=False) as file:
            file.write(content)
        os.chmod(file.name, mode)
        os.replace(file.name, path)
