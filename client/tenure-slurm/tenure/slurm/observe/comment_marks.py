"""What an administrator comment remembers of a job, at its end: `tenure: waits: ... [nodes 2-4]`.

A job keeps it when the state file is lost. Only administrators write this comment.
"""

import re
from typing import Final

PREFIX: Final = "tenure: "
_MARK: Final = re.compile(r"\[(nodes|priority|nodelist|exclude) ([\w.,-]+)\]")
_MAX_PRIORITY: Final = 2**31 - 1


def read_marks(comment: str | None) -> dict[str, str]:
    """Marks of a comment by name; none if it is not one of Tenure."""
    return dict(_MARK.findall(comment)) if comment and comment.startswith(PREFIX.strip()) else {}


def read_priority(comment: str | None) -> int | None:
    """The priority that an administrator set."""
    text = read_marks(comment).get("priority", "")
    return min(int(text), _MAX_PRIORITY) if text.isdecimal() else None


def read_node_range(comment: str | None) -> tuple[int, int] | None:
    """The range of nodes that the user of a job requested; 0: as many as Slurm likes."""
    first, _, last = read_marks(comment).get("nodes", "").partition("-")
    return (int(first), int(last) if last.isdecimal() else 0) if first.isdecimal() else None


def format_marks(comment: str | None, nodes: tuple[int, int] | None, lists: tuple[str, str]) -> str:
    """Marks to write after a text: those of the last comment, and the nodes that a user requested.

    `nodes` is a range that the adapter overwrites, `lists` are named and excluded nodes.
    """
    found = read_marks(comment)
    if nodes is not None:
        found["nodes"] = f"{nodes[0]}-{nodes[1] or ''}"
    for name, text in zip(("nodelist", "exclude"), lists, strict=True):
        if text and re.fullmatch(r"[\w.,-]+", text):
            found[name] = text
    return "".join(f" [{name} {value}]" for name, value in sorted(found.items()))
