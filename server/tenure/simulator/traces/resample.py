"""Other traces like this one: its blocks of time, drawn again with replacement (a block bootstrap).

One trace is one sample. Jobs of a block stay together, so bursts, users and the hours of a day stay as they
are; days that were busy or calm come in another order and number.
"""

from random import Random

from tenure.simulator.jobs import Job, Trace, TraceError, in_order
from tenure.terms.durations import format_duration

_DAY = 86_400 * 10**9


def resample(trace: Trace, block: int, seed: int) -> Trace:
    """A trace of as many blocks, in nanoseconds, from the midnight (UTC) before its first job.

    Each place has the jobs of a drawn block, at the same times within it; their names get the number of the
    place. The draw of a place depends on seed, place and number of blocks only. Raises TraceError.
    """
    first, last = trace.jobs[0].submit, trace.jobs[-1].submit
    start = first - first % _DAY
    count = (last - start) // block + 1 if block > 0 else 0
    if count < 2:
        raise TraceError(f"the trace has less than two blocks of {format_duration(block)} to draw from")
    blocks: list[list[Job]] = [[] for _ in range(count)]
    for job in trace.jobs:
        blocks[(job.submit - start) // block].append(job)
    jobs = []
    for place in range(count):
        drawn = Random(f"{seed}/resample/{place}").randrange(count)  # noqa: S311 a simulation, no secret
        moved = (place - drawn) * block
        jobs += [job._replace(name=f"{job.name}@{place}", submit=job.submit + moved) for job in blocks[drawn]]
    if not jobs:
        raise TraceError(f"seed {seed} draws only blocks without a job; use longer blocks")
    note = f"drawn with seed {seed} from {count} blocks of {format_duration(block)} each"
    return Trace(in_order(jobs), trace.bad_lines, (*trace.notes, note), trace.node_gpus, trace.nodes)
