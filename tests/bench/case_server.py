"""A server process for one case, and calls to it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import yaml
from tenure.client import Client
from tenure.terms.durations import SECOND

from tests.bench.workloads.case import PLAIN_OPTIONS, Case
from tests.small_snapshot import child_environment

_SECONDS: Final = 3_600
_CONFIGURATION: Final = {
    "server": {"maxMessageMib": 256, "maxStateMib": 1024, "maxRows": {"podGroups": 200_000}}
}


@dataclass(frozen=True)
class CaseServer:
    """A client of a server with the profile of a case."""

    client: Client
    pid: int

    def cpu_ms(self) -> float:
        """Processor time of the server process so far."""
        tasks = Path(f"/proc/{self.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e6

    @property
    def peak_mib(self) -> float:
        """Peak memory of the server process so far."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        kib = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
        return int(kib) / 1_024


@contextmanager
def serve_case(case: Case) -> Iterator[CaseServer]:
    """Start a server for a case and make one call, so that all modules are loaded."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "bench.yaml")
        file.write_text(yaml.safe_dump({**_CONFIGURATION, "options": _options(case)}))
        with _process(file) as (pid, address), Client(address, timeout=_SECONDS) as client:
            client.get_capabilities()
            yield CaseServer(client, pid)


@contextmanager
def _process(configuration: Path) -> Iterator[tuple[int, str]]:
    """Run `tenure serve` on a free port and kill it afterwards. Yields its process id and its address."""
    command = [sys.executable, "-m", "tenure.cli", "serve", "--listen", "127.0.0.1:0"]
    command += ["--no-records", "--config", str(configuration)]
    with (
        configuration.with_suffix(".log").open("w") as log,
        subprocess.Popen(
            command, env=child_environment(), stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            yield process.pid, process.stdout.readline().split()[-1]
        finally:
            process.kill()


def _options(case: Case) -> dict[str, object]:
    """Return the options with the names of the configuration file."""
    options = {**PLAIN_OPTIONS, **case.options}
    if notice := options.get("max_notice"):
        options["max_notice"] = f"{notice // SECOND}s"
    return {_camel(name): value for name, value in options.items()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
