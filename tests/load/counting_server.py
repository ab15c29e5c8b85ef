"""A server that prints its number of decisions when it exits."""

import sys
from itertools import count
from typing import Any, Final

from tenure.codec.engine import Engine
from tenure.server import grpc_server
from tenure.server.settings import RecordSettings, load_settings

_COUNT: Final = count()


class CountingEngine(Engine):
    """Counts decisions."""

    def decide(self, *given: Any) -> Any:
        answer = super().decide(*given)
        next(_COUNT)
        return answer


def main(address: str) -> None:
    grpc_server.Engine = CountingEngine  # type: ignore[misc]
    settings = load_settings(None)._replace(records=RecordSettings(enabled=False))
    grpc_server.serve(settings, address, lambda bound: print(bound, flush=True))
    print(next(_COUNT), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
