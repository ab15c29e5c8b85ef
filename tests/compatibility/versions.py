"""The check `versions`: this version and an earlier one read each other's files and call each other.

The earlier version is the commit that is named, else the last release (tag v*). Without a release it is the
commit that wrote the files in `kept`. Its sources come from git.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

import typer
from tenure.process.version import package_version

from tests.checks import CannotRun, Counts
from tests.compatibility.stored_files import (
    CONTRACT,
    CURRENT,
    RECORDS,
    SAMPLE,
    SOURCES,
    Version,
    configuration,
    read_problems,
    write_files,
)
from tests.tools.catalog import BUF
from tests.tools.tool import ROOT

KEPT: Final = Path(__file__).parent / "kept"
_PUSH = """
import sys
from tenure.client import Client
from tenure.client.session import StateSession
from tenure.client.snapshot_file import read_snapshot

snapshot = read_snapshot(sys.argv[2])
with Client(sys.argv[1]) as client, StateSession(client) as session:
    session.push(snapshot)
    before = session.decide()
    snapshot.version += 1
    snapshot.now.seconds += 60
    session.update(snapshot)
    after = session.decide()
print(len(before.outcomes), len(after.outcomes))
"""


def main(base: Annotated[str, typer.Option(help="Commit or tag of the earlier version")] = "") -> Counts:
    """Upgrade and downgrade: files both ways, callers both ways, and a server that is replaced."""
    if not (commit := base or _last_release() or _commit_of_kept_files()):
        print("compared with nothing: this clone has no earlier commit (git fetch --tags --unshallow)")
        return Counts(0, 0)
    print(f"compared with {commit}")
    with TemporaryDirectory() as scratch:
        earlier = _checkout(commit, Path(scratch, "earlier"))
        passed = failed = 0
        for name, writer, reader in (("upgrade", earlier, CURRENT), ("downgrade", CURRENT, earlier)):
            folder = Path(scratch, name)
            folder.mkdir()
            write_files(writer, folder)
            for step, problems in (
                ("files", read_problems(reader, folder)),
                ("replacement", _replacement_problems(reader, folder)),
                ("callers", _call_problems(writer, reader)),
            ):
                found = list(problems)
                for problem in found:
                    print(f"{name}, {step}: {problem}")
                passed, failed = passed + (not found), failed + bool(found)
        return Counts(passed, failed)


def keep() -> Counts:
    """Write the files and the contract of this version to the folder that tests read.

    Those of a release stay as they are.
    """
    folder = KEPT / package_version()
    if _git("rev-parse", "--verify", "--quiet", f"v{folder.name}").returncode == 0:
        raise CannotRun(f"{folder.name} is released: its files stay as they were written")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_files(CURRENT, folder)
    (folder / "server.yaml").unlink()
    write_contract(folder / CONTRACT)
    return Counts(len(list(folder.iterdir())), 0)


def write_contract(file: Path) -> None:
    """Write the protos as descriptors, without comments."""
    command = [BUF, "build", "protos", "--exclude-source-info", "--output", file]
    subprocess.run(command, cwd=ROOT, check=True)


def _last_release() -> str:
    return _git("describe", "--tags", "--abbrev=0", "--match", "v*").stdout.strip()


def _commit_of_kept_files() -> str:
    """The last one before this commit that wrote the records of a version; empty in a clone of one commit."""
    return _git("log", "-1", "--format=%H", "HEAD~1", "--", f"{KEPT}/*/{RECORDS}").stdout.strip()


def _checkout(commit: str, folder: Path) -> Version:
    folder.mkdir()
    packed = subprocess.run(
        ["git", "archive", commit, *SOURCES[:3]], cwd=ROOT, capture_output=True, check=False
    )
    if packed.returncode:
        raise CannotRun(f"git has no commit {commit}: {packed.stderr.decode().strip()}")
    subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
    return Version(folder)


def _git(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def _replacement_problems(version: Version, folder: Path) -> Iterator[str]:
    """A server of the version takes over the files of the other one: it goes on, or refuses to start."""
    before = (folder / RECORDS).read_bytes()
    with version.serve("--config", configuration(folder)) as address:
        if not address:
            if (folder / RECORDS).read_bytes() != before:
                yield "the server refused the file of records, and changed it"
            return
        ended = version.run("decide", SAMPLE, "--server", address)
        if ended.returncode:
            yield f"decide: exit {ended.returncode}: {ended.stderr.strip()[-500:]}"
    listed = version.run("records", folder / RECORDS, "--output", "json")
    if listed.returncode or len(json.loads(listed.stdout)) != 3:
        yield f"records: {listed.stdout[:200]} {listed.stderr.strip()[-500:]}"


def _call_problems(caller: Version, server: Version) -> Iterator[str]:
    """A caller of one version decides, explains and pushes states on a server of another one."""
    with server.serve("--no-records") as address:
        for command in (
            ("decide", SAMPLE, "--server", address),
            ("explain", SAMPLE, "why-pending", "nightly-eval", "--server", address),
            ("-c", _PUSH, address, SAMPLE),
        ):
            ended = caller.run(*command)
            if ended.returncode:
                yield f"{command[0]}: exit {ended.returncode}: {ended.stderr.strip()[-500:]}"
