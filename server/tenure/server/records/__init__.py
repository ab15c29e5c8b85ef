"""Decision records: what was decided on which state, so that it can be looked up and decided again.

    a call ──► Recorder ──► Backlog ──► thread ──► records.sqlite ──► RecordsFile ──► replay
               (no wait)    (bounded)

A decision never waits for the disk: what does not fit into the backlog is dropped and counted.
"""

from tenure.server.records.entries import Cycle, Outcome
from tenure.server.records.place import default_path
from tenure.server.records.reading import Record, RecordsFile
from tenure.server.records.recorder import NO_RECORDS, FileRecorder, Recorder
from tenure.server.records.schema import RecordsError

__all__ = [
    "NO_RECORDS",
    "Cycle",
    "FileRecorder",
    "Outcome",
    "Record",
    "Recorder",
    "RecordsError",
    "RecordsFile",
    "default_path",
]
