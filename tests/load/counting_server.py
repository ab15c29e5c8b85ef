"""A server at an address that says at its end how many decisions it made."""

import sys
from itertools import count
from typing import Any, Final

from tenure.server import serving
from tenure.server.engine import Engine
from tenure.server.settings import RecordSettings, load_settings

_MADE: Final = count()


class CountingEngine(Engine):
    """Decides as ever, and counts."""

    def decide(self, *given: Any) -> Any:
        answer = super().decide(*given)
        next(_MADE)
        return answer


def main(address: str) -> None:
    serving.Engine = CountingEngine  # type: ignore[misc]
    settings = load_settings(None)._replace(records=RecordSettings(enabled=False))
    serving.serve(settings, address, lambda bound: print(bound, flush=True))
    print(next(_MADE), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
