"""Flame graphs of decisions, for https://www.speedscope.app (which does not upload the files).

pyinstrument samples the stack, so that it does not slow down small functions.
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
    """Write the flame graph of one request: decoding, deciding and encoding, in this process."""
    request = DecideRequest(snapshot=case.build(), actions=case.actions)
    engine = Engine(case.profile)
    sampler = Profiler(interval=_INTERVAL_SECONDS)
    with sampler:
        engine.decide(request)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{case.name}.speedscope.json"
    file.write_text(sampler.output(SpeedscopeRenderer()))
    return file
