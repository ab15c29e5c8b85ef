"""One run: two low jobs run, a high gang of both nodes evicts them, ends, and they run again.

A strike hits at one command of the adapter. Whatever dies is started again. At the end:

    nothing lost            every job that Slurm still knows has run, and runs or waits
    nothing started twice   two runs of a job never overlap; the scripts of the jobs say so themselves
    nothing shrunk          the gang runs on two nodes, and never on one
    nothing beside Tenure   no job ran more often than the adapter released it

The jobs take a second to save their work when they are stopped, and end well: Slurm takes one for complete
whose requeue it forgot. What Slurm itself leaves behind when slurmctld dies is repaired by an operator, as
the page of the adapter says.
"""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import yaml

from tests.slurm.faults.striking_commands import Strike, StrikingCommands
from tests.slurm.slurm_adapter import SlurmAdapter, write_configuration
from tests.slurm.slurm_cluster import SlurmCluster, SlurmFailed

PATIENCE_SECONDS: Final = 90.0
_DOWN_SECONDS: Final = 1.0
STARTED: Final = re.compile(r"update JobId=(\d+) ExcNodeList= Priority=1\b")
_HELD: Final = re.compile(r"update JobId=(\d+) ExcNodeList=\S* Priority=0\b")
"""How the adapter starts a job, and holds it."""
_SCRIPT: Final = """\
trap 'sleep 1; exit 0' TERM
exec 8>{folder}/run-$SLURM_JOB_NAME.lock
flock -w 3 8 || echo twice $SLURM_JOB_NAME >> {folder}/runs
echo start $SLURM_JOB_NAME $SLURM_JOB_NUM_NODES >> {folder}/runs
sleep 600 8>&-
"""


class Broken(Exception):
    """An invariant does not hold at the end of a run. The message says which, and what happened."""


class FaultRun:
    """A cluster of two nodes with a server and an adapter whose commands may strike."""

    def __init__(self, cluster: SlurmCluster, server: str, strike: Strike) -> None:
        self._cluster, self._strike = cluster, strike
        self._folder = cluster.folder / "run"
        self.commands = StrikingCommands(self._folder, strike)
        (self._folder / "runs").write_text("")
        (self._folder / "runs").chmod(0o666)
        self._folder.chmod(0o777)
        queues = {"queuesFile": str(self._write_queues())}
        configuration = write_configuration(self._folder, server, **queues)
        self._adapter = SlurmAdapter(cluster, configuration, commands=self._folder)
        self._jobs: dict[str, int] = {}
        """Ids by name. A job that slurmctld forgot, because it died, is submitted again as its user would."""
        self._cancelled = 0
        """Id of a job that its user cancelled, and cancels again if slurmctld forgot it. 0: none."""
        self._ids: dict[str, set[int]] = {"low1": set(), "low2": set(), "high": set()}
        """All ids that jobs of these names had."""
        self._died: dict[str, float] = {}
        self.operator_steps: list[str] = []
        """What an operator did."""

    def play(self) -> list[str]:
        """Play the scenario. Returns the commands that were counted. Raises Broken and SlurmFailed."""
        self._adapter.start()
        try:
            self._name_processes()
            for name in ("low1", "low2"):
                self._submit(name)
            self._until(lambda jobs: _all(jobs, RUNNING="low1 low2"), "the low jobs run")
            self._submit("high")
            self._until(lambda jobs: _all(jobs, RUNNING="high", PENDING="low1 low2"), "the high job runs")
            self._check_gang()
            self._cancelled = self._jobs.pop("high")
            self._cluster.try_command("scancel", str(self._cancelled))
            self._until(lambda jobs: _all(jobs, RUNNING="low1 low2"), "the low jobs run again")
            self._check_runs()
            return self.commands.writes
        finally:
            self._adapter.kill()

    @property
    def unused_releases(self) -> int:
        """Starts that Slurm did not make in time, as the adapter says."""
        return self._adapter.output.count("Slurm did not start job")

    def _submit(self, name: str) -> None:
        nodes = 2 if name == "high" else 1
        partition = "high" if name == "high" else "low"
        body = _SCRIPT.format(folder=self._folder)
        options = (f"--job-name={name}", f"--nodes={nodes}", "--gres=gpu:8", f"--partition={partition}")
        try:
            self._jobs[name] = self._cluster.submit(*options, "--account=research", body=body)
            self._ids[name].add(self._jobs[name])
        except SlurmFailed:
            self._jobs[name] = 0  # slurmctld is away: its user tries again

    def _until(self, holds: Callable[[dict[str, str]], bool], what: str) -> None:
        """Repair what died until a condition holds twice in a row, half a second apart."""
        end, held = time.monotonic() + PATIENCE_SECONDS, 0
        while held < 2:
            if time.monotonic() > end:
                raise Broken(f"in vain: {what}\n{self._report()}")
            jobs = self._listed() if self._repair() else None
            held = held + 1 if jobs is not None and holds(jobs) else 0
            time.sleep(0.25)

    def _repair(self) -> bool:
        """Start what has died again, a second later. Returns whether all programs run."""
        for name in [name for name, one in self._cluster.programs.items() if one.has_ended]:
            died_at = self._died.setdefault(name, time.monotonic())
            if time.monotonic() > died_at + _DOWN_SECONDS:
                del self._died[name]
                self._restart(name)
        if self._adapter.process is None or self._adapter.process.has_ended:
            self._adapter.start()
            self._name_processes()
        if not self._died:
            self._operate()
        return not self._died

    def _operate(self) -> None:
        """Do what the page of the adapter tells operators: Slurm does not repair this by itself."""
        for line in self._cluster.try_command("sinfo", "-h", "-N", "-o", "%N %E").stdout.splitlines():
            name, _, reason = line.partition(" ")
            if reason == "Duplicate jobid" and f"restarted {name}" not in self.operator_steps:
                self.operator_steps.append(f"restarted {name}")
                self._cluster.programs[f"slurmd-{name}"].kill()
                self._restart(f"slurmd-{name}")
                self._cluster.try_command("scontrol", "update", f"NodeName={name}", "State=RESUME")
        wanted = self._adapter.output.count("an administrator runs `scontrol reconfigure`")
        if wanted > self.operator_steps.count("reconfigured"):
            self.operator_steps += ["reconfigured"] * (wanted - self.operator_steps.count("reconfigured"))
            self._cluster.try_command("scontrol", "reconfigure")

    def _restart(self, name: str) -> None:
        if name == "slurmctld":
            self._cluster.start_controller()
        else:
            self._cluster.start_node(name.removeprefix("slurmd-"))
        self._name_processes()

    def _name_processes(self) -> None:
        programs = self._cluster.programs
        nodes = {f"NODE_{name}": programs[f"slurmd-{name}"].pid for name in self._cluster.node_names}
        process = self._adapter.process
        assert process is not None
        self.commands.set_processes(ADAPTER=process.pid, CONTROLLER=programs["slurmctld"].pid, **nodes)

    def _listed(self) -> dict[str, str] | None:
        """States of the jobs by name; None while slurmctld is away. Forgotten jobs are submitted again."""
        try:
            jobs = self._cluster.jobs()
        except SlurmFailed:
            return None
        known = {(id, job["name"]): job["job_state"] for id, job in jobs.items()}
        for name, id in list(self._jobs.items()):
            if (id, name) not in known:
                self._submit(name)
                return None
        if known.get((self._cancelled, "high")) in ("PENDING", "RUNNING"):
            self._cluster.try_command("scancel", str(self._cancelled))
        return {name: known[id, name] for name, id in self._jobs.items()}

    def _check_gang(self) -> None:
        """What slurmctld says, if it has not just died; the gang itself says how many nodes it has."""
        try:
            job = self._cluster.job(self._jobs["high"])
        except (SlurmFailed, KeyError):
            return
        if job["job_state"] == "RUNNING" and (job["nodes"], job["node_count"]) != ("n[1-2]", 2):
            raise Broken(f"the gang runs on {job['nodes']}\n{self._report()}")

    def _check_runs(self) -> None:
        lines = (self._folder / "runs").read_text().splitlines()
        wrong = [line for line in lines if line.startswith("twice") or line == "start high 1"]
        if wrong or not {"start low1 1", "start low2 1", "start high 2"} <= set(lines):
            raise Broken(f"the jobs say: {lines}\n{self._report()}")
        starts = [STARTED.findall(line) for line in self.commands.writes]
        for name, ids in self._ids.items():
            released = sum(str(one) in each for each in starts for one in ids)
            if sum(line.startswith(f"start {name} ") for line in lines) > released:
                raise Broken(f"{name} ran without a release\n{self._report()}")
        # A slurmctld that dies forgets that a job which Tenure released was held again.
        forgets = "$CONTROLLER" in self._strike.script
        unheld = set(re.findall(r"Job (\d+) was not held and is PENDING", self._adapter.output))
        if unheld - self._left_released() and not forgets:
            raise Broken(f"Slurm could have started a job by itself\n{self._report()}")

    def _left_released(self) -> set[str]:
        """Jobs that an adapter had released when it was killed, and that Slurm had yet to start."""
        released = set[str]()
        for write in self.commands.writes if "kill -9 $ADAPTER" in self._strike.script else ():
            number, _, *arguments = write.split()
            if int(number) <= self._strike.number and arguments:
                others = {*arguments[-1].split(","), *_HELD.findall(write)}
                released = released - others | set(STARTED.findall(write))
        return released

    def _report(self) -> str:
        runs = (self._folder / "runs").read_text()
        listing = self._cluster.try_command("squeue", "-a", "-t", "all", "-o", "%i %j %T %r %N %Q").stdout
        nodes = self._cluster.try_command("sinfo", "-h", "-N", "-o", "%N %T %E").stdout
        writes = "\n".join(self.commands.writes)
        return f"{listing}\n{nodes}\n{runs}\n{writes}\n{self._adapter.output[-3000:]}"

    def _write_queues(self) -> Path:
        path = self._folder / "no-minimum.yaml"
        resources = ("cpu_milli", "memory_bytes", "gpu_milli")
        queue = {"name": "research", **{one: {"quota": -1, "limit": -1} for one in resources}}
        path.write_text(yaml.safe_dump({"queues": [queue]}))
        return path


def _all(jobs: dict[str, str], **wanted: str) -> bool:
    pairs = [(name, state) for state, names in wanted.items() for name in names.split()]
    return all(jobs.get(name) == state for name, state in pairs)
