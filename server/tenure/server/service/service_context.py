"""Shared context of the methods of one service."""

from dataclasses import dataclass, field

from tenure.codec.engine import Engine
from tenure.server.audit import NO_AUDIT, AuditLog
from tenure.server.memory import RequestMemory
from tenure.server.records import NO_RECORDS, RecentCycles, Recorder
from tenure.server.reports import ReportHistory
from tenure.server.security.access_control import OPEN, AccessControl
from tenure.server.service.cycle_queue import CycleQueue
from tenure.server.settings import ServerLimits
from tenure.server.state import StateStore, UploadMemory
from tenure.server.telemetry.call_metrics import PushLinks
from tenure.server.telemetry.cycle_metrics import Cycles


@dataclass(frozen=True)
class ServiceContext:
    """Context passed to every method."""

    engine: Engine
    limits: ServerLimits
    cycle_queue: CycleQueue
    states: StateStore
    upload_memory: UploadMemory
    request_memory: RequestMemory
    cycles: Cycles
    push_links: PushLinks = field(default_factory=PushLinks)
    recorder: Recorder = NO_RECORDS
    access: AccessControl = OPEN
    audit: AuditLog = NO_AUDIT
    recent_cycles: RecentCycles = field(default_factory=RecentCycles)
    report_history: ReportHistory = field(default_factory=ReportHistory)
