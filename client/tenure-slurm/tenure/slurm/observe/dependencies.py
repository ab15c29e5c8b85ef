"""Dependencies of held jobs. Slurm looks at them only when it may start a job, so the adapter looks first.

A dependency that seems satisfied lets the server decide on the job. Slurm looks again when it is released,
and has the last word: a job that it does not start is held again.
"""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from tenure.slurm.observe.rows import JobRow, number

_PART: Final = re.compile(r"(?P<kind>[a-z]+)(?::(?P<job>\d{1,18})(?:_(?P<task>\d{1,18}|\*))?)?[^,?]*")
_OVER_WELL: Final = ("afterok", "aftercorr")
_STARTED: Final = ("after",)


class Dependencies:
    """Evaluates dependencies among the jobs of one listing."""

    def __init__(self, jobs: Sequence[JobRow]) -> None:
        self._jobs = jobs

    @cached_property
    def _by_id(self) -> dict[int, list[JobRow]]:
        found: dict[int, list[JobRow]] = {}
        for job in self._jobs:
            found.setdefault(number(job.array_job_id) or job.job_id, []).append(job)
        return found

    @cached_property
    def _by_name(self) -> dict[tuple[int, str], list[JobRow]]:
        found: dict[tuple[int, str], list[JobRow]] = {}
        for job in self._jobs:
            found.setdefault((job.user_id, job.name or ""), []).append(job)
        return found

    def is_satisfied(self, job: JobRow) -> bool:
        """Whether nothing is left that a job waits for. What Slurm no longer lists is over."""
        text = job.dependency or ""
        if not text:
            return True
        parts = [self._is_part_satisfied(job, part) for part in re.split(r"[,?]", text) if part]
        return any(parts) if "?" in text else all(parts)

    def is_impossible(self, job: JobRow) -> bool:
        """Whether a job waits for an end of another one that has ended in another way."""
        text = job.dependency or ""
        parts = [part for part in re.split(r"[,?]", text) if part]
        impossible = ["(failed)" in part or self._is_part_impossible(part) for part in parts]
        return bool(impossible) and (all(impossible) if "?" in text else any(impossible))

    def _is_part_impossible(self, text: str) -> bool:
        part = _PART.fullmatch(text)
        if part is None or part["job"] is None or (part["task"] or "*") != "*":
            return False
        others = self._by_id.get(int(part["job"]), [])
        if part["kind"] in _OVER_WELL:
            return any(other.is_over and other.state != "COMPLETED" for other in others)
        is_of_failure = part["kind"] == "afternotok"
        return is_of_failure and bool(others) and all(other.state == "COMPLETED" for other in others)

    def _is_part_satisfied(self, job: JobRow, text: str) -> bool:
        part = _PART.fullmatch(text)
        if part is None:
            return False
        if part["kind"] == "singleton":
            same = self._by_name.get((job.user_id, job.name or ""), ())
            return all(other.is_over or other.job_id >= job.job_id for other in same)
        if part["job"] is None:
            return False
        others = self._by_id.get(int(part["job"]), [])
        if (part["task"] or "*") != "*":
            others = [other for other in others if number(other.array_task_id) in (None, int(part["task"]))]
        return all(_is_met(part["kind"], other) for other in others)


def _is_met(kind: str, other: JobRow) -> bool:
    if kind in _STARTED:
        return other.state != "PENDING"
    if kind in _OVER_WELL:
        return other.state == "COMPLETED"
    if kind == "afternotok":
        return other.is_over and other.state != "COMPLETED"
    return other.is_over
