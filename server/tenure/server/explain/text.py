"""Sentences for three kinds of readers: everybody, the owner of the workload, operators."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from tenure.solver.model.duration import SECOND
from tenure.v1.explain_pb2 import Explanation


class Text(NamedTuple):
    """The same said three times."""

    public: str
    """No names of others: neither workloads nor queues nor nodes."""
    tenant: str
    """Names of the own queue and those above it."""
    operator: str
    """Everything."""

    def message(self) -> Explanation:
        """As the contract has it."""
        return Explanation(**self._asdict())


NOTHING = Text("", "", "")


def same(text: str) -> Text:
    """A text without any name of others."""
    return Text(text, text, text)


def for_operators(text: str) -> Text:
    """A text that nobody else may read."""
    return Text("", "", text)


def say(template: str, **parts: "Text | str | int") -> Text:
    """A template filled for every reader with what that reader may know."""
    told = []
    for reader in range(len(Text._fields)):
        known = {name: part[reader] if isinstance(part, Text) else part for name, part in parts.items()}
        told.append(template.format(**known))
    return Text(*told)


def joined(parts: Iterable[Text], separator: str = " ") -> Text:
    """Parts one after the other; those that say nothing to a reader are left out for that reader."""
    columns = list(zip(*parts, strict=True)) or [(), (), ()]
    return Text(*(separator.join(filter(None, column)) for column in columns))


def capital(text: Text) -> Text:
    """The text as the beginning of a sentence."""
    return Text(*(part[:1].upper() + part[1:] for part in text))


def moment(nanoseconds: int) -> str:
    """A time of any day: `2025-03-03 10:42:00 UTC`, with its fraction when there is one."""
    seconds, fraction = divmod(nanoseconds, SECOND)
    parts = f".{fraction:09d}".rstrip("0") if fraction else ""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}{parts} UTC"
