"""A real Slurm cluster on this machine: munged, slurmctld and a slurmd per node, from Debian's packages.

The packages are unpacked in `.cache/slurm`, not installed; nothing outside of the folder of the cluster
changes. All programs run in the foreground as children. Jobs are started by slurmstepd, which outlives its
slurmd: at the end every process that has the cluster in its environment is killed.
"""

import json
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from tests.child_processes import Program, free_port
from tests.tools.tool import ROOT

PACKAGES: Final = ROOT / ".cache/slurm/root"
NO_SLURM: Final = (
    "Slurm needs `python -m tests build slurm`, Debian 12, root, and a folder that others may enter"
)
NODES: Final = 8
GPUS: Final = 8
USERS: Final = ("games", "news", "proxy")
"""Accounts of the machine that submit jobs: every Debian has them."""
OPEN_GATE: Final = """\
function slurm_job_submit(d, parts, uid) return slurm.SUCCESS end
function slurm_job_modify(d, job, parts, uid) return slurm.SUCCESS end
return slurm.SUCCESS
"""
"""The job_submit.lua of a cluster without Tenure: it changes nothing."""
_LIBRARIES: Final = PACKAGES / "usr/lib/x86_64-linux-gnu"
PLUGINS: Final = _LIBRARIES / "slurm-wlm"
_START_SECONDS: Final = 30.0
_SLURM_CONF: Final = Path(__file__).with_name("slurm.conf").read_text()


class SlurmFailed(Exception):
    """A program of Slurm failed, or did not do something in time. The message has its output."""


class SlurmCluster:
    """A running cluster.

    `foreign` of the nodes belong to the partition `cpu`, which Tenure does not own. `replaced` are texts of
    slurm.conf with what replaces them. `prepare` is called before slurmctld starts. `kinds` are numbers of
    nodes, with their generic resources and features, for `{node_lines}` of slurm.conf.
    """

    def __init__(
        self,
        folder: Path,
        lua: str,
        *,
        nodes: int = NODES,
        foreign: int = 0,
        node_timeout: int = 300,
        replaced: Mapping[str, str] = MappingProxyType({}),
        prepare: Callable[["SlurmCluster"], None] = lambda cluster: None,
        kinds: Sequence[tuple[str, str, str]] = (),
    ) -> None:
        self.folder = folder
        self.programs: dict[str, Program] = {}
        self._lua, self._foreign, self._node_timeout = lua, foreign, node_timeout
        self._nodes, self._replaced, self._prepare = nodes, replaced, prepare
        self._kinds = kinds
        self._script_read_at = 0.0
        path = f"{PACKAGES}/usr/bin:{os.environ.get('PATH', '')}"
        self.environment: Mapping[str, str] = {
            "PATH": path,
            "LD_LIBRARY_PATH": f"{_LIBRARIES}:{_LIBRARIES}/slurm-wlm",
            "SLURM_CONF": str(self.configuration),
        }
        """What commands of Slurm need."""

    @property
    def configuration(self) -> Path:
        """Path of slurm.conf."""
        return self.folder / "slurm.conf"

    @property
    def node_names(self) -> Sequence[str]:
        """Names of all nodes."""
        return [f"n{number}" for number in range(1, self._nodes + 1)]

    def start(self) -> None:
        """Start all programs, and wait until all nodes are idle. Raises SlurmFailed."""
        self._write_files()
        names = {
            "key-file": "key",
            "socket": "sock",
            "pid-file": "pid",
            "log-file": "log",
            "seed-file": "seed",
        }
        files = [f"--{option}={self.folder}/munge.{suffix}" for option, suffix in names.items()]
        self.run("munged", "munged", "--foreground", "--force", *files)
        self.wait((self.folder / "munge.sock").exists, "munged listens")
        self._prepare(self)
        self.start_controller()
        for name in self.node_names:
            self.start_node(name)
        self.wait(lambda: self._states() == ["idle"], "all nodes are idle")

    def start_controller(self, *options: str) -> None:
        """Start slurmctld, which recovers its state."""
        self.run("slurmctld", "slurmctld", "-D", *options)
        self.wait(lambda: self.try_command("scontrol", "ping").returncode == 0, "slurmctld answers")
        self._script_read_at = time.time()

    def await_script_change(self) -> None:
        """Wait until slurmctld would notice a change of job_submit.lua.

        It compares whole seconds: it never reads a script that changed in the second of its last reading.
        """
        self.wait(lambda: time.time() >= int(self._script_read_at) + 1, "the second is over")

    def start_node(self, name: str) -> None:
        """Start the slurmd of a node."""
        stepd = PACKAGES / "usr/sbin/slurmstepd"
        self.run(f"slurmd-{name}", "slurmd", "-D", "-N", name, "-d", str(stepd))

    def stop(self) -> None:
        """End all programs and jobs by their ids."""
        for name in sorted(self.programs, reverse=True):
            self.programs[name].kill()
        mark = f"SLURM_CONF={self.configuration}".encode()
        for _ in range(3):
            for process in _processes_with(mark):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    def try_command(self, *command: str, user: str = "", text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command of Slurm, as a user or as the administrator."""
        prefix = _as_user(user) if user else ()
        return subprocess.run(
            (*prefix, *command),
            env=self.environment,
            input=text,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            cwd="/",
            timeout=60,
            check=False,
        )

    def command(self, *command: str, user: str = "", text: str = "") -> str:
        """Output of a command of Slurm. Raises SlurmFailed."""
        ended = self.try_command(*command, user=user, text=text)
        if ended.returncode:
            raise SlurmFailed(f"{' '.join(command)}: {ended.stdout}{ended.stderr}")
        return ended.stdout

    def submit(self, *options: str, user: str = USERS[0], body: str = "sleep 600") -> int:
        """Submit a batch job of a user. Returns its id."""
        script = f"#!/bin/sh\n{body}\n"
        out = self.command(
            "sbatch", "--parsable", "--output=/dev/null", "--chdir=/", *options, user=user, text=script
        )
        return int(out.split(";")[0])

    def jobs(self) -> dict[int, dict[str, Any]]:
        """All jobs as `squeue --json` prints them, by id. Raises SlurmFailed, also if it exits with 0."""
        listed = json.loads(self.command("squeue", "--json", "--states=all"))
        if listed["errors"]:
            raise SlurmFailed(f"squeue --json: {listed['errors']}")
        return {job["job_id"]: job for job in listed["jobs"]}

    def job(self, job_id: int) -> dict[str, Any]:
        """One job. Raises KeyError if there is none."""
        return self.jobs()[job_id]

    def wait(self, condition: Callable[[], bool], what: str, seconds: float = _START_SECONDS) -> None:
        """Wait for a condition. Raises SlurmFailed with the logs, also if a program has ended."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise SlurmFailed(f"waited {seconds:.0f} s in vain: {what}\n{self.logs()}")
            time.sleep(0.1)

    def wait_for(self, job_id: int, state: str, seconds: float = _START_SECONDS) -> None:
        """Wait until a job has a state."""
        self.wait(lambda: self.job(job_id)["job_state"] == state, f"job {job_id} is {state}", seconds)

    def logs(self) -> str:
        """The ends of the logs."""
        files = sorted(self.folder.glob("*.log"))
        return "\n".join(f"--- {file.name}\n{file.read_text(errors='replace')[-2000:]}" for file in files)

    def _states(self) -> list[str]:
        listed = self.try_command("sinfo", "--json")
        nodes = json.loads(listed.stdout)["nodes"] if listed.returncode == 0 else []
        return sorted({node["state"] for node in nodes})

    def run(self, name: str, program: str, *arguments: str) -> None:
        """Start a program of the packages."""
        binary = PACKAGES / "usr/sbin" / program
        environment = dict(self.environment)
        self.programs[name] = Program(self.folder / f"{name}.out.log", binary, *arguments, env=environment)

    def _write_files(self) -> None:
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        for number in range(GPUS):
            # A character device, as of a GPU; this is /dev/null. Slurm ignores ordinary files.
            os.mknod(self.folder / f"gpu{number}", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        own, host = self._nodes - self._foreign, socket.gethostname().split(".")[0]
        foreign = f"PartitionName=cpu Nodes=n[{own + 1}-{self._nodes}] MaxTime=INFINITE State=UP"
        template = _SLURM_CONF
        for old, new in self._replaced.items():
            template = template.replace(old, new)
        self.configuration.write_text(
            template.format(
                host=host,
                folder=self.folder,
                port=free_port(),
                plugins=PLUGINS,
                nodes=self._nodes,
                gpus=GPUS,
                own=own,
                node_ports=",".join(str(free_port()) for _ in range(self._nodes)),
                node_timeout=self._node_timeout,
                node_lines="\n".join(self._node_lines(host)),
                more=foreign if self._foreign else "",
            )
        )
        (self.folder / "gres.conf").write_text("".join(self._gres_lines()))
        (self.folder / "job_submit.lua").write_text(self._lua)

    def _node_lines(self, host: str) -> Iterator[str]:
        """Lines of slurm.conf for nodes of several kinds."""
        for numbers, gres, features in self._kinds:
            count = len(_numbers(numbers))
            ports = ",".join(str(free_port()) for _ in range(count))
            yield (
                f"NodeName=n[{numbers}] NodeHostname={host} NodeAddr=127.0.0.1 Port={ports} CPUs=64 "
                f"RealMemory=512000 Gres={gres} Features={features} State=UNKNOWN"
            )

    def _gres_lines(self) -> Iterator[str]:
        """Lines of gres.conf: a device file for each GPU of a node."""
        kinds = self._kinds or ((f"1-{self._nodes}", f"gpu:a100:{GPUS}", ""),)
        for numbers, gres, _ in kinds:
            first = 0
            for part in gres.split(","):
                _, name, count = part.split(":")
                files = f"{self.folder}/gpu[{first}-{first + int(count) - 1}]"
                yield f"NodeName=n[{numbers}] Name=gpu Type={name} File={files}\n"
                first += int(count)


def _numbers(text: str) -> list[int]:
    """Numbers of a list such as `1-2,5`."""
    spans = (part.partition("-") for part in text.split(","))
    return [number for first, _, last in spans for number in range(int(first), int(last or first) + 1)]


def find_slurm() -> bool:
    """Whether the programs of a cluster are here, and root and the users of the cluster may run them."""
    if not (PACKAGES / "usr/sbin/slurmctld").exists() or os.geteuid() != 0:
        return False
    command = (*_as_user(USERS[0]), "test", "-x", str(PACKAGES / "usr/bin/squeue"))
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@contextmanager
def run_slurm(folder: Path, lua: str, **options: Any) -> Iterator[SlurmCluster]:
    """A cluster in an empty folder, until the end of the context."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    cluster = SlurmCluster(folder, lua, **options)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def _as_user(name: str) -> tuple[str, ...]:
    entry = pwd.getpwnam(name)
    return ("setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups")


def _processes_with(mark: bytes) -> Iterator[int]:
    """Ids of the processes, except this one, that have a variable in their environment."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                yield int(entry.name)
