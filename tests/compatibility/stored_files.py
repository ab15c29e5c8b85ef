"""Files that Tenure stores, written and read by a version of Tenure: a checkout with its own sources.

Versions are run through their commands. Only the journal, which is in the cluster, is written by a program.
"""

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tests.tools.tool import ROOT

SOURCES: Final = ("protos", "server", "client", "client/tenure-kubernetes", "client/tenure-slurm")
RECORDS, AUDIT, JOURNAL = "records.sqlite", "audit.jsonl", "journal.bin"
CONTRACT: Final = "contract.binpb"
"""The protos of a version as descriptors, which .ci/breaking compares with while there is no release."""
JOURNAL_PROGRAM: Final = """
import sys
from pathlib import Path
from tenure.integration.journal import Journal
from tenure.integration.journal_entry import JournalEntry
from tenure.integration.journal_format import pack_journal, unpack_journal
from tenure.v1.decision_pb2 import DecisionGroup
from tenure.v1.snapshot_pb2 import EvictionRecord

file = Path(sys.argv[2])
if sys.argv[1] == "write":
    journal = Journal()
    journal.add([JournalEntry(DecisionGroup(id="g1", action="reclaim"))])
    journal.eviction_history["v", "p"] = EvictionRecord(victim="v", preemptor="p")
    file.write_bytes(pack_journal(journal))
else:
    journal = unpack_journal(file.read_bytes(), "the journal")
    print(sorted(journal.entries), sorted(journal.eviction_history))
"""


class Version(NamedTuple):
    """One version of Tenure, as a checkout."""

    checkout: Path

    def environment(self) -> dict[str, str]:
        """The variables under which its sources are imported, and no others."""
        path = os.pathsep.join(str(self.checkout / source) for source in SOURCES)
        return {**os.environ, "PYTHONPATH": path, "COLUMNS": "100"}

    def run(self, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
        """Run a command of this version, or `-c PROGRAM`."""
        module = () if arguments[0] == "-c" else ("-m", "tenure.cli")
        return subprocess.run(
            [sys.executable, *module, *arguments],
            cwd=self.checkout,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    @contextmanager
    def serve(self, *arguments: str | Path) -> Iterator[str]:
        """Serve on a free port; yields the address, empty if the server refuses to start."""
        command = [sys.executable, "-m", "tenure.cli", "serve", "--listen", "127.0.0.1:0", *arguments]
        with subprocess.Popen(
            command, env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            try:
                assert process.stdout is not None
                yield (process.stdout.readline().split() or [""])[-1]
                process.send_signal(signal.SIGTERM)
                process.wait(30)
            finally:
                process.kill()


_REFUSALS: Final = {
    "records": ("has format version",),
    "replay": ("has format version", "has options of a newer version", "is not a profile of this version"),
    "-c": ("was written by a newer version",),
}
"""What a version says, by command, when it does not read a file of another one."""
_REFUSALS_OF_EARLIER: Final = {"replay": ("cannot be replayed with its profile",)}
"""And what an earlier version says, which knows fewer values of options than this one."""
CURRENT: Final = Version(ROOT)
SAMPLE: Final = ROOT / "server/tenure/cli/samples/two-departments.yaml"


def configuration(folder: Path) -> Path:
    """Configuration of a server that writes the files of a folder."""
    file = folder / "server.yaml"
    text = f"server: {{auditFile: {folder / AUDIT}}}\nrecords: {{path: {folder / RECORDS}}}\n"
    file.write_text(text, encoding="utf-8")
    return file


def write_files(version: Version, folder: Path) -> None:
    """Write all kinds of files with a version. Raises CalledProcessError."""
    with version.serve("--config", configuration(folder)) as address:
        assert address, "the server did not start"
        for _ in range(2):
            version.run("decide", SAMPLE, "--server", address).check_returncode()
    version.run("-c", JOURNAL_PROGRAM, "write", folder / JOURNAL).check_returncode()


def read_problems(version: Version, folder: Path) -> Iterator[str]:
    """What goes wrong when a version reads the files of another one.

    A file is read, or it is refused with a message that names the format, and is not changed.
    """
    before = _digest(folder / RECORDS)
    refusals = _REFUSALS if version == CURRENT else {**_REFUSALS, **_REFUSALS_OF_EARLIER}
    for command, fine in (
        (("records", folder / RECORDS, "--output", "json"), (0,)),
        (("replay", folder / RECORDS), (0, 1)),
        (("audit", "verify", folder / AUDIT), (0,)),
        (("-c", JOURNAL_PROGRAM, "read", folder / JOURNAL), (0,)),
    ):
        ended = version.run(*command)
        is_refused = any(words in ended.stderr for words in refusals.get(command[0], ()))
        if ended.returncode not in fine and not is_refused:
            yield f"{command[0]}: exit {ended.returncode}: {ended.stderr.strip()[-500:]}"
        if "Traceback" in ended.stderr and command[0] != "-c":
            yield f"{command[0]}: a traceback"
    if _digest(folder / RECORDS) != before:
        yield "records: the file was changed by reading it"


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
