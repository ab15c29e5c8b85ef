"""What the methods of one service share."""

from dataclasses import dataclass, field

from tenure.server.engine import Engine
from tenure.server.outcomes import Reported
from tenure.server.records import NO_RECORDS, Recorder
from tenure.server.service.turns import Turns
from tenure.server.settings import ServerLimits
from tenure.server.state import StateStore, Uploads
from tenure.server.telemetry.cycles import Cycles
from tenure.server.telemetry.pushes import Pushes


@dataclass(frozen=True)
class Shared:
    """Handed to every method."""

    engine: Engine
    limits: ServerLimits
    turns: Turns
    states: StateStore
    uploads: Uploads
    cycles: Cycles
    pushes: Pushes = field(default_factory=Pushes)
    recorder: Recorder = NO_RECORDS
    reported: Reported = field(default_factory=Reported)
