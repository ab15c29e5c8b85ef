"""The check `linear-work`: twice the elements of any repeated field or map are at most 2.2 times the work.

Work is counted exactly (`work_counter` says what it sees), never timed, for every field of every request that
the descriptors of the contract list (`growing_requests`), along the path of a call without its transport
(`work_measurement`): scan, parsing, checks, decoding, session, cycle with nothing to place, encoding.
"""

import json
import subprocess
import sys
from typing import Final, NamedTuple

from tests.attacks.work.growing_requests import field_name, repeated_paths, request_types
from tests.checks import Counts
from tests.small_snapshot import child_environment

PROGRAM: Final = """
import sys
from tests.attacks.work import work_counter
work_counter.install()
from tests.attacks.work import work_measurement
work_measurement.main(*sys.argv[1:])
"""
MOST: Final = 2.2
SLACK: Final = 2_000
"""Units that do not grow with the elements, such as a warning, or a scan that only large rows need."""
MIN_DECIDED: Final = 0.8
"""Part of the valid requests that are decided with most elements, rather than refused by a limit."""
FIELDS: Final = sorted(
    {field_name(path[-1]) for message in request_types().values() for path in repeated_paths(message)}
)


class Counted(NamedTuple):
    """Units of work of a call with some elements, with twice and with four times as many."""

    few: int
    some: int
    many: int
    status: str

    @property
    def growth(self) -> float:
        """How much the work for the elements grows when their number doubles, whatever is constant."""
        return (self.many - self.some) / max(SLACK, self.some - self.few)


def count_calls(*fields: str) -> dict[str, dict[str, list[Counted]]]:
    """Calls by field and case, of these fields or all, counted in a process of their own."""
    command, environment = [sys.executable, "-c", PROGRAM, *fields], child_environment()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, list[Counted]]] = {}
    for line in done.stdout.splitlines():
        field, name, calls = json.loads(line)
        found.setdefault(field, {})[name] = [Counted(*call) for call in calls]
    return found


def excessive(cases: dict[str, list[Counted]]) -> list[str]:
    """Calls whose work grows faster than their elements."""
    return [
        f"{name}, call {place}: {call.growth:.2f} times ({call})"
        for name, calls in cases.items()
        for place, call in enumerate(calls)
        if call.growth > MOST
    ]


def main() -> Counts:
    """Count the work for every field, and print the fields with more than 2.2 times."""
    counted = count_calls()
    problems = {field: excessive(cases) for field, cases in counted.items()}
    problems |= {field: ["it was not counted"] for field in set(FIELDS) - counted.keys()}
    valid = [calls for cases in counted.values() for name, calls in cases.items() if name.startswith("valid")]
    decided = [calls for calls in valid if all(call.status == "OK" for call in calls)]
    if len(decided) <= MIN_DECIDED * len(valid):
        problems["valid requests"] = [f"only {len(decided)} of {len(valid)} were decided"]
    for field, texts in sorted(problems.items()):
        for text in texts:
            print(f"{field}: {text}")
    failed = sum(map(bool, problems.values()))
    return Counts(len(problems) - failed, failed)
