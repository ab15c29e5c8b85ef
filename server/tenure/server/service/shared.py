"""What the methods of one service share."""

import threading
from dataclasses import dataclass, field

from tenure.server import cycle_metrics
from tenure.server.cycle_log import CycleLog
from tenure.server.engine import Engine
from tenure.server.service.turns import Turns
from tenure.server.settings import ServerLimits
from tenure.server.state import StateStore, Uploads
from tenure.v1.decision_service_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot


class Records:
    """What operators see of cycles: metrics and logs. Nothing of it changes an answer."""

    def __init__(self) -> None:
        self._log = CycleLog()
        self._one_writes = threading.Lock()

    def write(self, snapshot: ClusterSnapshot, answer: DecideResponse) -> None:
        """Count and log one cycle. Threads wait for each other."""
        cycle_metrics.count(answer)
        with self._one_writes:
            self._log.write(snapshot, answer)


@dataclass(frozen=True)
class Shared:
    """Handed to every method."""

    engine: Engine
    limits: ServerLimits
    turns: Turns
    states: StateStore
    uploads: Uploads
    records: Records = field(default_factory=Records)
