"""The CSV files of the openb trace: parsed fields and error messages."""

import re
from pathlib import Path

import pytest
from tenure.cli.importers.openb_csv import TraceError, read_nodes, read_pods

NODES = "sn,cpu_milli,memory_mib,gpu,model"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "list.csv"


def write(file: Path, *lines: str) -> Path:
    file.write_text("\n".join(lines) + "\n")
    return file


def test_node_row_is_read(file: Path) -> None:
    (node,) = read_nodes(write(file, NODES, "n1,64000,262144,2,P100"))
    assert (node.sn, node.cpu_milli, node.memory_mib, node.gpu, node.model) == (
        "n1",
        64000,
        262144,
        2,
        "P100",
    )


def test_pods_are_ordered_by_creation_time_and_name(file: Path) -> None:
    rows = ("c,1,1,0,0,,BE,,5,,", "b,1,1,0,0,,BE,,5,,", "a,1,1,0,0,,BE,,9,,", "d,1,1,0,0,,BE,,2,,")
    assert [pod.name for pod in read_pods(write(file, PODS, *rows))] == ["d", "b", "c", "a"]


@pytest.mark.parametrize(("scheduled", "start"), [("7", 7), ("", 5)])
def test_a_pod_starts_when_scheduled_or_else_when_created(file: Path, scheduled: str, start: int) -> None:
    (pod,) = read_pods(write(file, PODS, f"a,1,1,0,0,,BE,,5,,{scheduled}"))
    assert pod.start_time == start


@pytest.mark.parametrize(
    ("spec", "models"), [("", ()), ("T4", ("T4",)), ("V100M32|P100|V100M32", ("P100", "V100M32"))]
)
def test_gpu_models_are_distinct_and_sorted(file: Path, spec: str, models: tuple[str, ...]) -> None:
    (pod,) = read_pods(write(file, PODS, f"a,1,1,1,1000,{spec},BE,,5,,"))
    assert pod.gpu_models == models


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("a,x,1,0,0,,BE,,5,,", "2: column cpu_milli: .*got 'x'"),
        ("a,-1,1,0,0,,BE,,5,,", "2: column cpu_milli: .*greater than or equal to 0, got '-1'"),
        ("a,1.5,1,0,0,,BE,,5,,", "2: column cpu_milli: .*got '1.5'"),
        ("a,nan,1,0,0,,BE,,5,,", "2: column cpu_milli: .*got 'nan'"),
        ("a,1,99999999999999,0,0,,BE,,5,,", "2: column memory_mib: .*less than"),
        ("a,1,1,1,1001,,BE,,5,,", "2: column gpu_milli: .*less than or equal to 1000"),
        ("a,1,1,1,0,,BE,,5,,", "2: gpu_milli is 0 although num_gpu is not"),
        ("a,1,1,2,500,,BE,,5,,", "2: gpu_milli must be 1000 when num_gpu is more than 1"),
        ("a,1,1,0,0,,XX,,5,,", "2: column qos: .*'LS', 'Guaranteed', 'Burstable' or 'BE', got 'XX'"),
        (",1,1,0,0,,BE,,5,,", "2: column name: "),
        ("a,1,1", "2: column num_gpu: .*got None"),
        ("a,1,1,0,0,,BE,,5,,\na,1,1,0,0,,BE,,6,,", "3: 'a' is already on line 2"),
    ],
)
def test_error_names_file_line_and_column(file: Path, line: str, fault: str) -> None:
    with pytest.raises(TraceError, match=f"^{re.escape(str(file))}:{fault}"):
        read_pods(write(file, PODS, line))


def test_missing_columns_are_named_with_what_is_expected(file: Path) -> None:
    with pytest.raises(TraceError, match=r"list\.csv:1: missing columns gpu, model; expected sn, cpu_milli"):
        read_nodes(write(file, "sn,cpu_milli,memory_mib"))


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", ":1: missing columns"),
        (b"\xff\xfe\x00", ": not a valid CSV file"),
        (b"sn\n" + b"x" * 200_000, ":1: missing columns"),
    ],
)
def test_invalid_node_list_is_rejected(file: Path, content: bytes, fault: str) -> None:
    file.write_bytes(content)
    with pytest.raises(TraceError, match=rf"list\.csv{fault}"):
        read_nodes(file)


def test_missing_file_is_named(file: Path) -> None:
    with pytest.raises(TraceError, match=r"list\.csv: not a valid CSV file"):
        read_nodes(file)
