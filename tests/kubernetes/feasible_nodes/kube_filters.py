"""kube-scheduler's filters and scores in a process: `tests/tools/kubeapi/filters`."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.tools.catalog import KUBE_FILTERS


class Question(NamedTuple):
    """A cluster and the pod that asks for a node, as objects of the API."""

    nodes: Sequence[dict[str, Any]]
    namespaces: Sequence[dict[str, Any]]
    pods: Sequence[dict[str, Any]]
    pod: dict[str, Any]
    features: Sequence[str] = ()
    """What the objects use, for reports."""


class Answer(NamedTuple):
    """Nodes on which the pod fits, why it fits on no other, and the score of each of them by plugin."""

    feasible: frozenset[str]
    reasons: Mapping[str, str]
    scores: Mapping[str, Mapping[str, int]]


class KubeFilters:
    """The running process. It answers one question after the other."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def answer(self, question: Question) -> Answer:
        """The nodes of one pod. Raises ValueError for objects that kube-scheduler cannot read."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        body = question._asdict()
        del body["features"]
        self._process.stdin.write(json.dumps(body) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise ValueError(answer["error"])
        return Answer(frozenset(answer["feasible"]), answer["reasons"], answer["scores"])


@contextmanager
def run_kube_filters(program: Path = KUBE_FILTERS) -> Iterator[KubeFilters]:
    """Run the process until the end of the block."""
    with subprocess.Popen(
        [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield KubeFilters(process)
        finally:
            process.kill()
