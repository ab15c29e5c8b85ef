"""What would become of a job before it is submitted: `tenure slurm --what-if "-N2 --gres=gpu:8 -A vision"`.

The options of sbatch that decide where a job runs become the row that Slurm would list. The server decides on
the cluster with this row; nothing is submitted and nothing is stored.
"""

import argparse
import re
import shlex
from typing import Final, NoReturn

from tenure.slurm.observe.rows import JobRow

JOB_ID: Final = 2**31 - 1
"""Id of the job in the snapshot: Slurm's own ids are lower."""
_SUFFIXES: Final = {"K": 2**-10, "M": 1, "G": 2**10, "T": 2**20}
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_UNITS: Final = (3_600, 60, 1)
"""Seconds of the parts of a time: hours, minutes, seconds."""
_DAY: Final = 86_400


class OptionError(ValueError):
    """An option of sbatch is unknown here, or invalid."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise OptionError(message)


def read_options(text: str, partition: str, user: int, now: int) -> JobRow:
    """The job that sbatch would submit with these options, at `now` in seconds. Raises OptionError."""
    try:
        parsed = _parser(partition).parse_args(shlex.split(text))
    except ValueError as error:
        raise OptionError(str(error)) from None
    nodes, tasks = parsed.nodes, max(parsed.ntasks, parsed.nodes)
    cpus = tasks * parsed.cpus_per_task
    per_node = parsed.gres or (parsed.gpus_per_node and f"gpu:{parsed.gpus_per_node}") or ""
    return JobRow(
        JOB_ID,
        "PENDING",
        user,
        name=parsed.job_name,
        account=parsed.account,
        partition=parsed.partition,
        qos=parsed.qos,
        comment=parsed.comment,
        submit_time=now,
        requeue=not parsed.no_requeue,
        batch_flag=True,
        required_nodes=parsed.nodelist,
        excluded_nodes=parsed.exclude,
        node_count=nodes,
        max_nodes=nodes,
        tasks=tasks,
        memory_per_node=parsed.mem,
        memory_per_cpu=None if parsed.mem is not None else parsed.mem_per_cpu,
        time_limit=parsed.time,
        tres_req_str=f"cpu={cpus}",
        tres_per_node=per_node,
        tres_per_job=f"gpu:{parsed.gpus}" if parsed.gpus else "",
        tres_per_task=f"gpu:{parsed.gpus_per_task}" if parsed.gpus_per_task else "",
        features=parsed.constraint,
        shared="none" if parsed.exclusive else "",
    )


def _parser(partition: str) -> argparse.ArgumentParser:
    parser = _Parser(prog="sbatch", add_help=False, allow_abbrev=False)
    parser.add_argument("-N", "--nodes", type=_positive, default=1)
    parser.add_argument("-n", "--ntasks", type=_positive, default=1)
    parser.add_argument("-c", "--cpus-per-task", type=_positive, default=1)
    parser.add_argument("--mem", type=_mebibytes)
    parser.add_argument("--mem-per-cpu", type=_mebibytes, default=0)
    parser.add_argument("-t", "--time", type=_minutes)
    for option in ("--gres", "--gpus-per-node", "--gpus-per-task"):
        parser.add_argument(option, default="")
    parser.add_argument("-G", "--gpus", default="")
    parser.add_argument("-A", "--account", default="")
    parser.add_argument("-q", "--qos", default="")
    parser.add_argument("-p", "--partition", default=partition)
    parser.add_argument("-C", "--constraint", default="")
    parser.add_argument("-w", "--nodelist", default="")
    parser.add_argument("-x", "--exclude", default="")
    parser.add_argument("-J", "--job-name", default="what-if")
    parser.add_argument("--comment", default="")
    parser.add_argument("--exclusive", action="store_true")
    parser.add_argument("--no-requeue", action="store_true")
    return parser


def _positive(text: str) -> int:
    if not _NUMBER.fullmatch(text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!a} is not a whole number from 1")
    return int(text)


def _mebibytes(text: str) -> int:
    digits, suffix = (text[:-1], text[-1].upper()) if text[-1:].isalpha() else (text, "M")
    if not _NUMBER.fullmatch(digits) or suffix not in _SUFFIXES:
        raise argparse.ArgumentTypeError(f"{text!a} is not an amount of memory; use a value such as 64G")
    return int(int(digits) * _SUFFIXES[suffix])


def _minutes(text: str) -> int | None:
    """Minutes, rounded up, in one of the forms M, M:S, H:M:S, D-H, D-H:M, D-H:M:S. None, and 0: no limit."""
    if text.lower() in ("infinite", "unlimited"):
        return None
    days, dash, rest = text.rpartition("-")
    parts = rest.split(":")
    most = len(_UNITS) if dash or len(parts) == len(_UNITS) else 2
    units = _UNITS[:most] if dash or most > 2 else _UNITS[1:]
    if len(parts) > most or not all(map(_NUMBER.fullmatch, (*parts, days or "0"))):
        raise argparse.ArgumentTypeError(f"{text!a} is no time, such as 30, 2:00:00 or 1-12:00")
    seconds = sum(int(part) * unit for part, unit in zip(parts, units, strict=False))
    return -(-(seconds + int(days or "0") * _DAY) // 60) or None
