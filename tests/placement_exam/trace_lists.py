"""Reads the lists of the exam. Two of them have only names and requests, which the importer rejects."""

import csv
from pathlib import Path
from typing import Final, NamedTuple

from tests.checks import CannotRun

NODE_LIST: Final = "openb_node_list_gpu_node.csv"
WHOLE_GPU: Final = 1000


class ExamNode(NamedTuple):
    """A node of the cluster."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str


class ExamPod(NamedTuple):
    """A pod of a list."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    gpu_milli: int
    """Of each GPU, in thousandths; 0 without GPUs."""
    models: str
    """Permitted GPU models, separated by `|`; empty: any."""

    @property
    def total_gpu_milli(self) -> int:
        """What it takes of the cluster's GPUs, in thousandths."""
        return self.gpus * self.gpu_milli

    @property
    def shape(self) -> str:
        """Name of its request: equal for equal ones."""
        return f"{self.cpu_milli}m-{self.memory_mib}Mi-{self.gpus}x{self.gpu_milli}-{self.models}"


def read_exam_nodes(folder: Path) -> list[ExamNode]:
    """The nodes, by name. Raises CannotRun without the file."""
    rows = _rows(folder / NODE_LIST)
    nodes = [ExamNode(r["sn"], *_integers(r, "cpu_milli", "memory_mib", "gpu"), r["model"]) for r in rows]
    return sorted(nodes)


def read_exam_pods(folder: Path, name: str) -> list[ExamPod]:
    """The pods of a list, by name. Raises CannotRun without the file."""
    rows = _rows(folder / f"openb_pod_list_{name}.csv")
    amounts = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
    pods = [ExamPod(r["name"], *_integers(r, *amounts), r.get("gpu_spec") or "") for r in rows]
    return sorted(pods)


def _rows(file: Path) -> list[dict[str, str]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            return list(csv.DictReader(opened))
    except OSError as error:
        raise CannotRun(f"{error.strerror}: {file}; name the folder with --folder") from error


def _integers(row: dict[str, str], *columns: str) -> list[int]:
    return [int(row[column]) for column in columns]
