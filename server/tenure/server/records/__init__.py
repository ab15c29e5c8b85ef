"""Decision records: responses with the states they are based on, for inspection and replay.

    a call ──► Recorder ──► WriteQueue ──► thread ──► records.sqlite ──► RecordsFile ──► replay
               (no wait)     (bounded)

Decisions never wait for the disk: entries that do not fit into the queue are dropped and counted.
"""

from tenure.server.records.entries import CycleEntry, ResultEntry
from tenure.server.records.file import RecordsError, default_path
from tenure.server.records.reader import Record, RecordsFile
from tenure.server.records.recent_cycles import RecentCycles
from tenure.server.records.recorder import NO_RECORDS, FileRecorder, Recorder

__all__ = [
    "NO_RECORDS",
    "CycleEntry",
    "FileRecorder",
    "RecentCycles",
    "Record",
    "Recorder",
    "RecordsError",
    "RecordsFile",
    "ResultEntry",
    "default_path",
]
