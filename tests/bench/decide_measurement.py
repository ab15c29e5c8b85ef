"""Measures `decide` on a decoded cluster, in this process."""

import gc
import time
from dataclasses import asdict

from tenure.codec.decode import decode_snapshot
from tenure.server.garbage_collection import pause_gc
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import CycleResult

from tests.bench.sample import Sample, StealMeter, load_average
from tests.bench.workloads.case import CallMode, Case, DecisionCounts


class UnexpectedCounts(AssertionError):
    """The counts of a case differ from the expected counts."""


def measure_decide(case: Case, runs: int) -> Sample:
    """Measure this many decisions on one cluster. Raises UnexpectedCounts."""
    cluster, profile = decode_snapshot(case.build()), case.profile
    gc.collect()
    gc.freeze()  # as the server does with cached state
    theft, wall, cpu = StealMeter(), [], []
    try:
        for _ in range(runs):
            gc.collect()
            wall_begin, cpu_begin = time.perf_counter(), time.process_time()
            with pause_gc():  # as the server decides
                decision = answer(cluster, profile)
            cpu.append((time.process_time() - cpu_begin) * 1e3)
            wall.append((time.perf_counter() - wall_begin) * 1e3)
            counters, tally = _counters(decision), DecisionCounts.from_result(decision)
            del decision  # the server frees it too, so that the next result can use its memory
    finally:
        gc.unfreeze()
    host = load_average(), theft.share()
    return Sample(case.name, CallMode.DECIDE, wall, cpu, counters, require_expected(case, tally), *host)


def require_expected(case: Case, tally: DecisionCounts) -> dict[str, object]:
    """Return the counts. Raises UnexpectedCounts if they differ from those that the case expects."""
    if case.expected not in (None, tally):
        raise UnexpectedCounts(f"{case.name}: expected {case.expected}, got {tally}")
    return tally._asdict()


def _counters(decision: CycleResult) -> dict[str, int]:
    counters = asdict(decision.counters)
    if not counters["plan_placements"]:
        del counters["plan_placements"]  # most cases plan nothing
    return counters
