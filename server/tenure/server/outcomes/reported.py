"""What was reported of steps before, as long as the process lives and as far as its memory goes."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, NamedTuple

from tenure.server.shard import Shard
from tenure.v1 import outcome_pb2 as pb

MOST_STEPS: Final = 100_000
"""Steps that are remembered; beyond that those that were reported longest ago are forgotten."""


class Conflict(Exception):
    """Of some steps another final result was reported before."""

    def __init__(self, decision_ids: list[str]) -> None:
        self.decision_ids = decision_ids
        super().__init__(", ".join(decision_ids))


class Fact(NamedTuple):
    """A result of a step, as counted."""

    decision_id: str
    step: str
    """Kind of the step: "evict", ..."""
    report: pb.StepReport


class _Known(NamedTuple):
    """What was reported last of a step."""

    result: int
    is_final: bool


class Reported:
    """Tells what is new in a report and what contradicts an earlier one. For many threads."""

    def __init__(self, most: int = MOST_STEPS) -> None:
        self._most = most
        self._known: OrderedDict[tuple[Shard, str], _Known] = OrderedDict()
        self._changing = threading.Lock()

    def take(self, shard: Shard, report: pb.GroupReport) -> list[Fact]:
        """What was not reported before; remembered from now on. Raises Conflict, and takes nothing then."""
        with self._changing:
            if conflicting := [each.decision_id for each in report.steps if self._is_conflict(shard, each)]:
                raise Conflict(conflicting)
            return list(self._take(shard, report))

    def _take(self, shard: Shard, report: pb.GroupReport) -> Iterator[Fact]:
        kinds = {each.id: each.WhichOneof("step") or "unknown" for each in report.group.decisions}
        for step in report.steps:
            key, before = (shard, step.decision_id), self._known.get((shard, step.decision_id))
            was_final = before is not None and before.is_final
            self._known[key] = _Known(step.result, was_final or _is_final(step))
            self._known.move_to_end(key)
            if before is None or before.result != step.result:
                yield Fact(step.decision_id, kinds[step.decision_id], step)
        while len(self._known) > self._most:
            self._known.popitem(last=False)

    def _is_conflict(self, shard: Shard, step: pb.StepReport) -> bool:
        before = self._known.get((shard, step.decision_id))
        return before is not None and before.is_final and before.result != step.result


def _is_final(step: pb.StepReport) -> bool:
    return step.result != pb.STEP_RESULT_FAILED or not step.retryable
