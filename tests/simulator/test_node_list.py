"""Lists of nodes are read as lists of jobs are: decimal amounts, byte order marks, spaces."""

from pathlib import Path

import pytest
from tenure.simulator.jobs import TraceError
from tenure.simulator.node_list import read_nodes

GIB = 1 << 30


def nodes_of(folder: Path, content: str, encoding: str = "utf-8") -> list[tuple[str, int, int, int]]:
    path = folder / "nodes.csv"
    path.write_bytes(content.encode(encoding))
    return [
        (node.name, *(getattr(node.allocatable, name) for name in ("gpu_milli", "cpu_milli", "memory_bytes")))
        for node in read_nodes(path)
    ]


def test_cpu_and_memory_of_nodes_are_decimals_as_those_of_jobs(tmp_path) -> None:
    text = "name,gpus,cpu,memory\na,8,31.5,1.25\nb,4,0.0009,64\n"  # less than a thousandth is no capacity
    assert nodes_of(tmp_path, text) == [("a", 8_000, 31_500, 5 * GIB // 4), ("b", 4_000, 0, 64 * GIB)]


def test_a_byte_order_mark_is_skipped(tmp_path) -> None:
    assert nodes_of(tmp_path, "name,gpus,cpu,memory\na,1,2,3\n", "utf-8-sig") == [
        ("a", 1_000, 2_000, 3 * GIB)
    ]


@pytest.mark.parametrize(
    ("content", "encoding", "problem"),
    [
        ("gpus\n8\n", "utf-16", "nodes.csv: has the byte order mark of UTF-16; save it as UTF-8"),
        ("gpus\n\xe4\n", "latin-1", "nodes.csv: byte 5 is not valid UTF-8"),
        ("gpus,cpu\n8,NaN\n", "utf-8", "nodes.csv: line 2: cpu 'NaN' is not a number"),
        ("gpus,memory\n8,-1\n", "utf-8", "nodes.csv: line 2: memory '-1' is not from 0 to 1000000"),
        (
            "sn,cpu_milli,memory_mib,gpu,model\na,1.5,1,1,T4\n",
            "utf-8",
            "nodes.csv: line 2: cpu_milli '1.5' is not a whole number up to 1000000000",
        ),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, content, encoding, problem) -> None:
    with pytest.raises(TraceError) as caught:
        nodes_of(tmp_path, content, encoding)
    assert str(caught.value) == f"{tmp_path}/{problem}"
