"""Clients against a real server, with their reports: all of them, or those that are named.

One that is not there is a failure, unlike in the test suite: `make clients` makes it first.
"""

import sys
from textwrap import indent

from tests.clients.asking import NEEDED
from tests.server.running import serving_process


def main() -> None:
    with serving_process() as (_, address):
        for ask, needed in NEEDED.items():
            if sys.argv[1:] and ask.__name__ not in sys.argv[1:]:
                continue
            if needed is not None and not needed.exists():
                sys.exit(f"{ask.__name__}: {needed} is missing: make clients")
            print(f"{ask.__name__}:\n{indent(ask(address).rstrip(), '  ')}")


if __name__ == "__main__":
    main()
