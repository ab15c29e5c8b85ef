"""Values of recorded calls: decoding from a case, and comparison of results."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.conformance.cases import Json
from tests.conformance.conversion.times import NOW_NS, nanoseconds

Results = tuple[Any, ...]
"""Results of one call, in the order of the recorded function's results. An error is a string or None."""

Adapter = Callable[..., Results]
"""Calls Tenure's counterpart with the decoded (receiver, *arguments) of the recorded function."""


class Unmapped(Exception):
    """The case calls functions without a counterpart; the arguments name them."""


@dataclass(slots=True)
class Recording:
    """Results of the calls so far, and the state of their objects after the calls."""

    results: dict[int, Results] = field(default_factory=dict)
    objects: dict[int, dict[str, Any]] = field(default_factory=dict)

    def add(self, step: int, results: Results, receiver: Any, arguments: Mapping[str, Any]) -> None:
        """Store the result of one call."""
        self.results[step] = results
        self.objects[step] = {"receiver": receiver, **arguments}

    def actual_values(self, actual: Json) -> Iterator[Any]:
        """Return the values to which an expectation applies: usually one, or every element of a list."""
        if "value" in actual:
            return
        if actual.get("op") == "len":
            yield from (len(value) for value in self.actual_values(actual["x"]))
        elif "call" in actual:
            yield from (method(*actual["args"]) for method in self.actual_values(actual["call"]))
        elif "after_step" in actual:
            yield from _follow(self.objects[actual["after_step"]][actual["object"]], actual.get("path", []))
        else:
            yield from _follow(self.results[actual["step"]][actual["result"]], actual.get("path", []))


def decode(value: Any, recording: Recording) -> Any:
    """Decode a literal. Durations and times become nanoseconds; references become earlier results."""
    if isinstance(value, list):
        return [decode(item, recording) for item in value]
    if not isinstance(value, dict):
        return value
    if "$result" in value:
        return recording.results[value["$result"]["step"]][value["$result"]["result"]]
    if "duration_s" in value:
        return nanoseconds(value["duration_s"])
    if "time_offset_s" in value:
        return NOW_NS + nanoseconds(value["time_offset_s"])
    return {key: decode(item, recording) for key, item in value.items()}


def _follow(value: Any, path: list[Json]) -> Iterator[Any]:
    if not path:
        yield value
        return
    step, rest = path[0], path[1:]
    if "each_value" in step:
        for item in value:
            yield from _follow(item, rest)
    elif "map_field" in step:
        yield from _follow([item[step["map_field"]] for item in value], rest)
    elif step == {"field": "Duration"}:
        yield from _follow(value, rest)
    else:
        yield from _follow(_member(value, step), rest)


def _member(value: Any, step: Json) -> Any:
    """Return a field by name, or an element by index. A missing field of a record has its zero value."""
    key = step.get("field", step.get("index"))
    if isinstance(value, Mapping):
        return value.get(key, 0)
    return value[key] if isinstance(key, int) else getattr(value, str(key))
