"""Every form of job has the result that Slurm's own scheduler gives it, or is listed as different."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.slurm.accounting import run_slurm_with_accounts
from tests.slurm.forms.forms import DIFFERENT, FORMS
from tests.slurm.slurm_adapter import gate, run_slurm_adapter
from tests.slurm.slurm_cluster import SlurmCluster

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(600), pytest.mark.usefixtures("slurm_programs")]
PLAIN: Final = "cpu"
_KINDS: Final = (
    ("1-2,6-7", "gpu:a100:8", "a100,ib"),
    ("3,8", "gpu:2080ti:8", "old,ib"),
    ("4,9", "gpu:a100:4,gpu:1g.5gb:4", "mixed"),
    ("5,10", "gpu:a100:8", "booked"),
)
_SETTLED_SECONDS: Final = 180.0
_STARTED: Final = frozenset({"RUNNING", "COMPLETED", "COMPLETING", "CONFIGURING"})
_SAYS_NOTHING: Final = ("", "tenure: new")


class Result(NamedTuple):
    """What became of a job."""

    word: str
    """`started`, `refused`, or `waits` without a reason."""
    text: str = ""


def configuration() -> dict[str, str]:
    """Replacements that give the nodes three kinds."""
    line = (
        "NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port={node_ports} CPUs=64 "
        "RealMemory=512000 Gres=gpu:a100:{gpus} Features=a100,ib State=UNKNOWN"
    )
    return {line: "Licenses=lic:4\n{node_lines}"}


@pytest.fixture
def cluster(folder: Path, slurm_programs: None) -> Iterator[SlurmCluster]:
    settings = folder / "tenure"
    settings.mkdir()
    with run_slurm_with_accounts(
        folder / "slurm", gate(settings), nodes=10, foreign=5, kinds=_KINDS, more_replaced=configuration()
    ) as running:
        for name, node in (("own", "n5"), ("plain", "n10")):
            book = f"ReservationName={name} StartTime=now Duration=60 Nodes={node} Users=games"
            running.command("scontrol", "create", "reservation", *book.split())
        running.command("sacctmgr", "-i", "modify", "account", "research", "set", "GrpTRES=gres/gpu=-1")
        with run_slurm_adapter(running, settings):
            yield running


def submit(cluster: SlurmCluster, form: str, partition: str) -> int | str:
    """Submit a form. Returns the id of the job, or why it was refused."""
    first = 6 if partition == PLAIN else 1
    names = {str(place): f"n{place + first - 1}" for place in range(1, 5)}
    text = form
    for place, name in names.items():
        text = text.replace(f"{{{place}}}", name)
    text = text.replace("{book}", "plain" if partition == PLAIN else "own")
    own = f"--partition={partition} --account=research"
    options = [word for part in text.split(" : ") for word in (":", *own.split(), *part.split())][1:]
    ended = cluster.try_command(
        "sbatch",
        "--parsable",
        "--output=/dev/null",
        "--chdir=/",
        *options,
        user="games",
        text="#!/bin/sh\nsleep 1\n",
    )
    if ended.returncode:
        return " ".join(ended.stderr.split())
    return int(ended.stdout.split(";")[0])


def judge(listed: Mapping[int, dict[str, Any]], job: int | str) -> Result:
    """What became of a job; a job of several has started if all its parts have."""
    if isinstance(job, str):
        return Result("refused", job)
    rows = [
        row
        for row in listed.values()
        if job in (row["job_id"], row["array_job_id"] or 0, row["het_job_id"] or 0)
    ]
    if rows and all(row["job_state"] in _STARTED for row in rows):
        return Result("started")
    row = next((row for row in rows if row["job_state"] not in _STARTED), None)
    if row is None:
        return Result("waits", "it is gone")
    if row["partition"] == PLAIN:
        is_refusal = row["state_reason"] not in ("Resources", "Priority", "None", "BeginTime", "")
        return Result("refused" if is_refusal else "waits", row["state_reason"])
    text = row["admin_comment"]
    return Result("waits" if text in _SAYS_NOTHING else "refused", text)


def test_there_are_at_least_eighty_six_forms() -> None:
    assert len(set(FORMS)) >= 86
    assert len(DIFFERENT) <= 5
    assert set(DIFFERENT) <= set(FORMS)


def test_forms_have_the_results_that_slurm_gives_them(cluster: SlurmCluster) -> None:
    jobs = {form: (submit(cluster, form, "gpu"), submit(cluster, form, PLAIN)) for form in FORMS}

    def results() -> dict[str, tuple[Result, Result]]:
        listed = cluster.jobs()
        return {form: (judge(listed, own), judge(listed, plain)) for form, (own, plain) in jobs.items()}

    def wrong() -> list[str]:
        return [form for form, (own, plain) in results().items() if own.word != plain.word]

    def is_settled() -> bool:
        return set(wrong()) <= set(DIFFERENT)

    try:
        cluster.wait(is_settled, "all forms have their results", _SETTLED_SECONDS)
    finally:
        for form, (own, plain) in results().items():
            word = own.word if own.word == plain.word else f"DIFFERS: {own.word}, Slurm: {plain.word}"
            print(f"{form:60} {word:12} {own.text} | {plain.text}")
    found = results()
    for form in DIFFERENT:
        assert found[form][0].word == "refused", "it says what to request instead"
    assert sum(own.word == "started" for own, _ in found.values()) >= 86
