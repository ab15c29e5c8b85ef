"""Decision records: what was decided on which state, so that it can be looked up and decided again.

    a call ──► Recorder ──► Backlog ──► thread ──► records.sqlite ──► RecordsFile ──► replay
               (no wait)    (bounded)

A decision never waits for the disk: what does not fit into the backlog is dropped and counted.
"""

from tenure.server.records.entries import CycleEntry, ResultEntry
from tenure.server.records.file import RecordsError, default_path
from tenure.server.records.reader import Record, RecordsFile
from tenure.server.records.recorder import NO_RECORDS, FileRecorder, Recorder

__all__ = [
    "NO_RECORDS",
    "CycleEntry",
    "FileRecorder",
    "Record",
    "Recorder",
    "RecordsError",
    "RecordsFile",
    "ResultEntry",
    "default_path",
]
