"""What the command line says and returns when something is wrong. No traceback reaches a user."""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from typing import Final, NoReturn

BAD_INPUT: Final = 2
"""Exit code: the command line, a file or the snapshot must be mended."""
SERVER_TROUBLE: Final = 3
"""Exit code: the server or Tenure itself failed; the same command may work later."""


@contextmanager
def failures_told() -> Iterator[None]:
    """End the process with a message and an exit code when the block raises."""
    try:
        yield
    except Exception as error:
        _tell(error)


def _tell(error: Exception) -> NoReturn:
    # Imported only here: the client alone takes longer to import than `tenure --help` to run.
    from tenure.client.errors import BadCredentials, TenureError, Unauthenticated, Untrusted
    from tenure.client.errors import InvalidSnapshot as RefusedSnapshot
    from tenure.client.kubernetes.failures import ApiFailure, LedgerUnreadable
    from tenure.client.snapshot_file import SnapshotFileError
    from tenure.server.codec.violations import InvalidSnapshot
    from tenure.server.listening import ListenError
    from tenure.server.records import RecordsError
    from tenure.server.settings import ConfigurationError
    from tenure.server.telemetry.extras import TelemetryError

    match error:
        case InvalidSnapshot():
            _end(f"the snapshot is refused:\n{error}", BAD_INPUT)
        case BadCredentials() | Unauthenticated() | Untrusted():
            _end(str(error), BAD_INPUT)
        case SnapshotFileError() | ConfigurationError() | ListenError() | RefusedSnapshot():
            _end(str(error), BAD_INPUT)
        case RecordsError():
            _end(str(error), BAD_INPUT)
        case TelemetryError():
            _end(str(error), BAD_INPUT)
        case LedgerUnreadable():
            _end(str(error), BAD_INPUT)
        case ApiFailure():
            _end(f"the API server does not do it: {error}", SERVER_TROUBLE)
        case TenureError():
            _end(str(error), SERVER_TROUBLE)
        case OSError() if error.errno in (errno.ENOSPC, errno.EDQUOT):
            _end(f"what is printed cannot be written: {error.strerror}", SERVER_TROUBLE)
    _end(f"a defect in Tenure, please report it: {_place(error)}", SERVER_TROUBLE)


def _end(message: str, code: int) -> NoReturn:
    print(f"tenure: {message}", file=sys.stderr)
    sys.exit(code)


def _place(error: Exception) -> str:
    """Kind, text and innermost place of an exception, on one line."""
    frame = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
