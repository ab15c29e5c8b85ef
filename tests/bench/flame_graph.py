"""Flame graphs of decisions, for https://www.speedscope.app (which keeps what it is shown to itself).

pyinstrument samples the stack, so that small functions cost what they cost without it.
"""

from pathlib import Path
from typing import Final

from pyinstrument import Profiler
from pyinstrument.renderers import SpeedscopeRenderer
from tenure.codec.engine import Engine
from tenure.v1.decide_pb2 import DecideRequest

from tests.bench.workloads.case import Case

_INTERVAL_SECONDS: Final = 0.0005


def profile(case: Case, folder: Path) -> Path:
    """The file with the flame graph of one question: decoding, deciding and encoding, in this process."""
    request = DecideRequest(snapshot=case.build(), actions=case.actions)
    engine = Engine(case.profile)
    sampler = Profiler(interval=_INTERVAL_SECONDS)
    with sampler:
        engine.decide(request)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{case.name}.speedscope.json"
    file.write_text(sampler.output(SpeedscopeRenderer()))
    return file
