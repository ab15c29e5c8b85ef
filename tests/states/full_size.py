"""`make full-size`: a cluster of 5,000 nodes and 50,000 pods comes in every form and gets the same answer."""

import sys
import time

from tenure.client import Client

from tests.properties.draw import SeededDraw
from tests.server.running import server_here
from tests.states.engine import short_engine
from tests.states.forms import FORMS, whole
from tests.states.made import made_snapshot

NODES, PODS = 5_000, 50_000


def main() -> int:
    snapshot = made_snapshot(SeededDraw(0), NODES, PODS)
    print(f"{NODES:,} nodes, {PODS:,} pods, {snapshot.ByteSize():,} bytes")
    different = []
    with server_here(short_engine()) as (_, address), Client(address, timeout=600) as client:
        expected = b""
        for form in (whole, *FORMS.values()):
            began = time.monotonic()
            answer = form(client, snapshot).SerializeToString(deterministic=True)
            expected = expected or answer
            verdict = "same" if answer == expected else "DIFFERENT"
            print(f"{form.__name__:20}{time.monotonic() - began:6.1f} s  {verdict}")
            different += [form.__name__] * (answer != expected)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
