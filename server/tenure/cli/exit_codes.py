"""Messages and exit codes of failed commands. Users never see a traceback."""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from typing import Final, NoReturn

INVALID_INPUT: Final = 2
"""Exit code: invalid command line, file or snapshot."""
SERVER_FAILURE: Final = 3
"""Exit code: the server or Tenure failed; a retry may succeed."""


@contextmanager
def report_errors() -> Iterator[None]:
    """End the process with a message and an exit code if the block raises."""
    try:
        yield
    except Exception as error:
        _report(error)


def _report(error: Exception) -> NoReturn:
    # Imported here because `tenure --help` must be quick and the client is slow to import.
    from tenure.client.errors import (
        InvalidCredentials,
        PermissionDenied,
        TenureError,
        TlsHandshakeFailed,
        Unauthenticated,
    )
    from tenure.client.errors import InvalidSnapshot as RejectedSnapshot
    from tenure.client.snapshot_file import SnapshotFileError
    from tenure.process.exporters import TelemetryError
    from tenure.server.listen_address import ListenError
    from tenure.server.records import RecordsError
    from tenure.server.settings import ConfigurationError
    from tenure.wire.violations import SnapshotValidationError

    match error:
        case SnapshotValidationError():
            _end(f"invalid snapshot:\n{error}", INVALID_INPUT)
        case InvalidCredentials() | Unauthenticated() | PermissionDenied() | TlsHandshakeFailed():
            _end(str(error), INVALID_INPUT)
        case SnapshotFileError() | ConfigurationError() | ListenError() | RejectedSnapshot():
            _end(str(error), INVALID_INPUT)
        case RecordsError():
            _end(str(error), INVALID_INPUT)
        case TelemetryError():
            _end(str(error), INVALID_INPUT)
        case TenureError():
            _end(str(error), SERVER_FAILURE)
        case OSError() if error.errno in (errno.ENOSPC, errno.EDQUOT):
            _end(f"cannot write output: {error.strerror}", SERVER_FAILURE)
        case OSError() if error.filename is not None:
            _end(f"{error.filename}: {error.strerror}", INVALID_INPUT)
    from tenure.server.culprit import culprit_of

    if who := culprit_of(error):
        _end(f"{who} failed; please report it to its authors: {_place(error)}", SERVER_FAILURE)
    _end(f"internal error, please report it: {_place(error)}", SERVER_FAILURE)


def _end(message: str, code: int) -> NoReturn:
    from tenure.wire.violations import printable_lines

    print(printable_lines(f"tenure: {message}"), file=sys.stderr)
    sys.exit(code)


def _place(error: Exception) -> str:
    """Type, text and innermost frame of an exception, on one line."""
    frame = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
