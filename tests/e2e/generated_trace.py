"""A generated trace in the openb format, with the same mixture of requests, of any size."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import TypeVar

T = TypeVar("T")

NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS = (
    *("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos", "pod_phase"),
    *("creation_time", "deletion_time", "scheduled_time"),
)

NODE_KINDS = (
    (45, (96_000, 393_216, 8, "G2")),
    (32, (104_000, 524_288, 2, "T4")),
    (11, (64_000, 262_144, 2, "P100")),
    (5, (96_000, 786_432, 8, "V100M32")),
    (7, (32_000, 131_072, 4, "V100M16")),
)
REQUESTS = (
    (45, ("LS", 1, 1000)),
    (7, ("LS", 0, 0)),
    (9, ("LS", 1, 470)),
    (1, ("LS", 8, 1000)),
    (14, ("BE", 1, 810)),
    (8, ("BE", 1, 1000)),
    (6, ("BE", 0, 0)),
    (8, ("BE", 1, 320)),
    (1, ("Burstable", 1, 1000)),
    (1, ("Guaranteed", 1, 1000)),
)
SPECS = ((80, ""), (12, "G2"), (8, "V100M16|V100M32"))

FULL = 0.98
"""Share of all GPUs that the pods request together."""

CPU_MILLI = (4_000, 6_000, 8_000)
"""CPU request per device."""


def write_trace(
    folder: Path, nodes: int, seed: int = 0, cpu_milli: Sequence[int] = CPU_MILLI
) -> tuple[Path, Path, int]:
    """Write both files. Return their paths and the number of pods."""
    random = Random(seed)
    node_rows = [(f"node-{i:04}", *_draw(random, NODE_KINDS)) for i in range(nodes)]
    gpus = sum(row[3] for row in node_rows)
    pod_rows = list(_pods(random, int(gpus * FULL * 1000), cpu_milli))
    _write(folder / "nodes.csv", NODE_COLUMNS, node_rows)
    _write(folder / "pods.csv", POD_COLUMNS, pod_rows)
    return folder / "nodes.csv", folder / "pods.csv", len(pod_rows)


def _pods(random: Random, gpu_milli: int, cpu_milli: Sequence[int]) -> Iterator[tuple[object, ...]]:
    number = created = 0
    while gpu_milli > 0:
        qos, devices, milli = _draw(random, REQUESTS)
        cpu = random.choice(cpu_milli) * max(1, devices)
        created += random.randrange(3_000)
        spec = _draw(random, SPECS) if devices else ""
        times = (created, created + 100_000, created + 2 if random.random() < 0.9 else "")
        yield (f"pod-{number:04}", cpu, cpu * 2, devices, milli, spec, qos, "Running", *times)
        gpu_milli -= devices * milli
        number += 1


def _draw(random: Random, weighted: Sequence[tuple[int, T]]) -> T:
    weights = [weight for weight, _ in weighted]
    return random.choices([value for _, value in weighted], weights)[0]


def _write(path: Path, columns: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
