"""Every declaration of the protos has a comment."""

import re
from pathlib import Path

import pytest

PROTOS = sorted((Path(__file__).parents[2] / "protos" / "tenure" / "v1").glob("*.proto"))
DECLARATION = re.compile(r"^\s*(message|enum|service|rpc|oneof)\s+(\w+)|^\s*(?:[\w.<>, ]+\s)?(\w+) = \d+;")


def declarations(proto: Path) -> list[tuple[str, bool]]:
    """Return the declarations of a file, and whether a comment is directly above each."""
    lines = proto.read_text().splitlines()
    found = []
    for above, line in zip(["", *lines], lines, strict=False):
        match = DECLARATION.match(line)
        if match and not line.lstrip().startswith("//"):
            found.append((match.group(2) or match.group(3), above.lstrip().startswith("//")))
    return found


def test_protos_are_found() -> None:
    assert [proto.name for proto in PROTOS] == [
        "capabilities.proto",
        "cycles.proto",
        "decide.proto",
        "decision.proto",
        "decision_service.proto",
        "explain.proto",
        "pod_group_status.proto",
        "report.proto",
        "resources.proto",
        "simulate.proto",
        "snapshot.proto",
        "state.proto",
    ]


@pytest.mark.parametrize("proto", PROTOS, ids=lambda proto: proto.name)
def test_everything_is_explained(proto: Path) -> None:
    found = declarations(proto)
    assert len(found) > 5
    assert [name for name, is_explained in found if not is_explained] == []


def test_declarations_of_every_kind_are_recognised(tmp_path: Path) -> None:
    proto = tmp_path / "x.proto"
    proto.write_text(
        "message A {\n  map<string, int64> b = 1;\n  // c\n  optional C c = 2;\n  D_E = 0;\n  a.B f = 3;\n}\n"
    )
    assert declarations(proto) == [("A", False), ("b", False), ("c", True), ("D_E", False), ("f", False)]
