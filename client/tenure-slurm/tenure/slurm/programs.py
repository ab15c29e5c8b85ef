"""Runs Slurm's commands, without a shell: each argument arrives as it is."""

import os
import re
import secrets
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from tenure.integration.ports import ClusterError, LeaseLost
from tenure.slurm.observe.accounts import Associations, read_associations
from tenure.slurm.observe.cluster import Reading
from tenure.slurm.observe.hostlist import HostListError, expand
from tenure.slurm.observe.limits import QOS_FORMAT, Bounds, read_bounds
from tenure.slurm.observe.reservations import read_reservations
from tenure.slurm.observe.rows import ListingError, read_jobs, read_nodes

MAX_PROCESSES: Final = 2
"""Maximum number of commands at the same time: more only wait for locks in slurmctld."""
_READ_SECONDS: Final = 60.0
WRITE_SECONDS: Final = 20.0
_ASSOCIATION_SECONDS: Final = 60.0
_FORMAT: Final = "%i|%A|%T|%Q|%V|%S|%C|%m|%D|%b|%P|%n|%x|%E|%l|%N|%r"
_NODE_FORMAT: Final = "%N|%T|%G|%f"
_FIELD: Final = re.compile(r"(\w+)=(\S*)")
_HOSTS: Final = re.compile(r"[\w.,\[\]-]*")
_UNKNOWN: Final = (
    *("unable to contact", "unexpected message received"),  # slurmctld is away
    *("timed out", "timeout", "not available right now", "try again"),
)
_FINAL: Final = ("access/permission denied", "requested operation is presently disabled", "only batch jobs")


class CommandFailed(ClusterError):
    """A command failed. `text` is what Slurm says."""

    def __init__(self, command: str, text: str) -> None:
        self.text = " ".join(text.split())[:500]
        super().__init__(f"{command}: {self.text}")

    @property
    def is_unknown(self) -> bool:
        """Whether the command may have had an effect, or may have one later."""
        return any(part in self.text.lower() for part in _UNKNOWN)

    @property
    def is_final(self) -> bool:
        """Whether the same command would fail again."""
        return any(part in self.text.lower() for part in _FINAL)


class LiveJob(NamedTuple):
    """A job as it is now, by one line of squeue: what a decision depends on, and no text of users."""

    reference: str
    job_id: str
    state: str
    priority: int
    submit: int
    request: tuple[str, ...]
    """What it requests; equal unless it was edited."""
    required_nodes: str
    excluded_nodes: str
    nodes: str
    reason: str

    @property
    def is_held(self) -> bool:
        """Whether Slurm does not start it."""
        return self.priority == 0

    @property
    def partition(self) -> str:
        """Its partitions, separated by commas."""
        return self.request[4]

    @property
    def node_names(self) -> list[str]:
        """Nodes that it holds."""
        try:
            return expand(self.nodes)
        except HostListError:
            return []


class Slurm:
    """The commands. Writes check `may_act` and raise LeaseLost. For several threads."""

    def __init__(self, may_act: Callable[[], bool] = lambda: True) -> None:
        self._may_act = may_act
        self._slots = threading.BoundedSemaphore(MAX_PROCESSES)
        self._associations, self._associations_at = Associations(), -_ASSOCIATION_SECONDS
        self._qos_limits = b""
        self._environment = {**os.environ, "SLURM_TIME_FORMAT": "%s", "LC_ALL": "C"}

    def read(self) -> Reading:
        """Jobs, nodes, reservations and associations. Raises ClusterError."""
        jobs = self._run("squeue", "--json")
        nodes = self._run("sinfo", "--json")
        reserved = read_reservations(read_records(self._run("scontrol", "-o", "show", "reservation")))
        known = self.associations()
        try:
            return Reading(read_jobs(jobs), read_nodes(nodes), reserved, known)
        except ListingError as error:
            raise ClusterError(str(error)) from None

    def associations(self) -> Associations:
        """Accounts, QOS and administrators. They change rarely: they are read once a minute.

        A controller that has none has just started: those that were known before are kept.
        """
        if time.monotonic() > self._associations_at + _ASSOCIATION_SECONDS:
            listed = self._run("scontrol", "-o", "show", "assoc_mgr", "flags=users,assoc,qos")
            found = read_associations(read_records(listed))
            if found.accounts or found.qos:
                self._associations = found._replace(bounds=self._bounds(listed))
            self._associations_at = time.monotonic()
        return self._associations

    def _bounds(self, listed: bytes) -> Bounds:
        """Limits that Slurm enforces. While slurmdbd is away, those of QOS for each user are kept."""
        if "limits" not in self.configuration().get("AccountingStorageEnforce", "").split(","):
            return Bounds()
        with suppress(CommandFailed):
            self._qos_limits = self._run("sacctmgr", "-nP", "show", "qos", f"format={QOS_FORMAT}")
        return read_bounds(listed, self.partitions(), self._qos_limits)

    def fingerprint(self) -> bytes:
        """Changes whenever a job or a node changes in what decisions depend on; costs a tenth of `read`."""
        return self._list(()) + self._run("sinfo", "-h", "-N", "-o", _NODE_FORMAT)

    def live_jobs(self, references: Sequence[str] = ()) -> dict[str, LiveJob]:
        """Jobs as they are now, by reference; all without references. Unknown ones are missing."""
        listed = self._list(references).decode(errors="replace")
        jobs = (_live_job(line) for line in listed.splitlines())
        return {job.reference: job for job in jobs if job is not None}

    def comment(self, reference: str) -> str:
        """The comment of one job, which its user writes, as it is now."""
        return self._run("squeue", "-h", "-a", "-t", "all", "-j", reference, "-o", "%k").decode(
            errors="replace"
        )

    def comments(self, references: Sequence[str]) -> dict[str, str]:
        """Comments of jobs as they are now, by reference. Unknown jobs are missing."""
        if not references:
            return {}
        mark = secrets.token_hex(16)  # no user can have it in a comment
        listed = self._list(references, f"%i{mark}%k{mark}").decode(errors="replace")
        parts = listed.split(mark)
        return {name.strip(): text for name, text in zip(parts[::2], parts[1::2], strict=False)}

    def configuration(self) -> dict[str, str]:
        """Settings of the controller, by name."""
        text = self._run("scontrol", "show", "config").decode(errors="replace")
        pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
        return {name.strip(): value.strip() for name, _, value in pairs}

    def partitions(self) -> list[dict[str, str]]:
        """Fields of all partitions."""
        return read_records(self._run("scontrol", "-o", "show", "partition"))

    def boot_time(self) -> int:
        """When the controller was started, in seconds since 1970."""
        return _integer(self.configuration().get("BOOT_TIME", ""))

    def hold(self, jobs: Iterable[LiveJob]) -> None:
        """Hold those of these jobs that still wait; one that has started meanwhile is left as it is.

        Slurm counts a running job that is held as never eligible, and its accounting loses it. It checks the
        excluded nodes before the priority, and refuses both for a job that runs.
        """
        lines = [
            f"update JobId={reference} ExcNodeList={excluded} Priority=0"
            for reference, excluded in _by_record(jobs).items()
        ]
        self._write_lines(lines)

    def start(self, references: Iterable[str]) -> None:
        """Let Slurm start held jobs that were placed. Errors are not reported: read the jobs afterwards.

        The gate takes that for a release, and refuses it for a job that its owner has held meanwhile; with
        `scontrol release` an administrator ends such a hold.
        """
        self._write_lines([f"update JobId={reference} ExcNodeList= Priority=1" for reference in references])

    def release(self, references: Iterable[str]) -> None:
        """Leave jobs of partitions of others to Slurm."""
        self._write_all("release", references)

    def place(self, nodes: Mapping[str, tuple[Sequence[str], bool]]) -> None:
        """Set the nodes of held, pending jobs, by reference, and whether to set their number as well.

        Errors are not reported: read the jobs afterwards.
        """
        lines = [
            f"update JobId={reference} ReqNodeList={','.join(names)} ExcNodeList= StartTime=now"
            + (f" NumNodes={len(names)}-{len(names)}" if sets_number else "")
            for reference, (names, sets_number) in nodes.items()
        ]
        self._write_lines(lines)

    def requeue(self, reference: str) -> None:
        """Stop a job and hold it; one that has just completed stays completed."""
        self._write("scontrol", "requeuehold", "Incomplete", reference)

    def permit_requeue(self, reference: str) -> None:
        """Let a job be requeued that its owner has forbidden to requeue."""
        self._write("scontrol", "update", f"JobId={reference}", "Requeue=1")

    def requeue_ended(self, references: Iterable[str]) -> None:
        """Let jobs that have ended wait again, held. Errors are not reported: read the jobs afterwards."""
        self._write_all("requeuehold", references)

    def cancel(self, reference: str) -> None:
        """Cancel a job."""
        self._write("scancel", reference)

    def notify(self, reference: str, text: str) -> None:
        """Write a line to the standard error of a job."""
        self._write("scontrol", "notify", reference, text)

    def signal(self, reference: str, name: str) -> None:
        """Send a signal to the batch script of a job."""
        self._write("scancel", "--batch", f"--signal={name}", reference)

    def set_admin_comment(self, reference: str, text: str) -> None:
        """Set the comment of administrators, which users see and cannot change."""
        self._write("scontrol", "update", f"JobId={reference}", f"AdminComment={text}")

    def clear_admin_comments(self, references: Iterable[str]) -> None:
        """Remove comments of administrators. Errors are not reported: list the jobs afterwards."""
        self._write_lines([f"update JobId={reference} AdminComment=" for reference in references])

    def _list(self, references: Sequence[str], form: str = _FORMAT) -> bytes:
        chosen = ("-j", ",".join(references)) if references else ()
        try:
            return self._run("squeue", "-h", "-r", "-a", "-t", "all", "-o", form, *chosen)
        except CommandFailed as failure:
            if references and "invalid job id" in failure.text.lower():
                return b""
            raise

    def _write_all(self, verb: str, references: Iterable[str]) -> None:
        """One command for many jobs. The others succeed if one fails; read them afterwards."""
        listed = list(references)
        for begin in range(0, len(listed), 500):
            self._write("scontrol", verb, ",".join(listed[begin : begin + 500]), may_fail=True)

    def _write_lines(self, lines: Sequence[str]) -> None:
        """Commands to one scontrol. Errors are not reported: read the jobs afterwards."""
        if lines:
            self._write("scontrol", text="\n".join((*lines, "quit", "")), may_fail=True)

    def _write(self, *command: str, text: str = "", may_fail: bool = False) -> None:
        with self._slots:
            if not self._may_act():
                raise LeaseLost
            ended = self._execute(command, text, WRITE_SECONDS)
        errors = ended.stderr.decode(errors="replace")
        if ended.returncode:
            failure = CommandFailed(" ".join(command[:2]), errors)
            if not may_fail or failure.is_unknown:
                raise failure

    def _run(self, *command: str) -> bytes:
        with self._slots:
            ended = self._execute(command, "", _READ_SECONDS)
        if ended.returncode:
            raise CommandFailed(" ".join(command[:2]), ended.stderr.decode(errors="replace"))
        return ended.stdout

    def _execute(
        self, command: Sequence[str], text: str, seconds: float
    ) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(  # noqa: S603 (an argument list, and no shell)
                command,
                input=text.encode(),
                capture_output=True,
                env=self._environment,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise CommandFailed(command[0], f"timed out after {seconds:.0f} s") from None
        except OSError as error:
            raise CommandFailed(command[0], f"cannot be run: {error.strerror}") from None


def read_records(listing: bytes) -> list[dict[str, str]]:
    """Fields of each line of `scontrol -o show`."""
    lines = listing.decode(errors="replace").splitlines()
    return [dict(_FIELD.findall(line)) for line in lines if "=" in line]


def _live_job(line: str) -> LiveJob | None:
    count = _FORMAT.count("|")
    parts = line.split("|", count)  # the reason, which is the last one, is any text
    if len(parts) <= count:
        return None
    reference, job_id, state, priority, submit = parts[:5]
    required, excluded, dependency, limit, nodes, reason = parts[11:17]
    request = (*parts[6:11], dependency, limit)
    numbers = _integer(priority), _integer(submit)
    return LiveJob(reference, job_id, state, *numbers, request, required, excluded, nodes, reason)


def _by_record(jobs: Iterable[LiveJob]) -> dict[str, str]:
    """Excluded nodes by what scontrol calls each record. The untouched tasks of an array are one record.

    The id of that record alone would name the tasks that run as well.
    """
    tasks: dict[str, list[int]] = {}
    excluded: dict[str, str] = {}
    for job in jobs:
        array, mark, task = job.reference.partition("_")
        name = job.reference
        if mark and array == job.job_id and task.isdecimal():
            tasks.setdefault(array, []).append(int(task))
            name = array
        excluded[name] = job.excluded_nodes if _HOSTS.fullmatch(job.excluded_nodes) else ""
    names = {array: f"{array}_[{_ranges(some)}]" for array, some in tasks.items()}
    return {names.get(name, name): nodes for name, nodes in excluded.items()}


def _ranges(numbers: Iterable[int]) -> str:
    """Numbers as in `0-5,9`."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def _integer(text: str) -> int:
    return int(text) if text.isdecimal() else -1
