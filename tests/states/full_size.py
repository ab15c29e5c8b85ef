"""The check `full-size`: 5,000 nodes and 50,000 pods come in every form and get the same answer."""

import time

from tenure.client import Client

from tests.checks import Counts
from tests.properties.draw import SeededDraw
from tests.server.running import server_here
from tests.states.engine import short_engine
from tests.states.forms import FORMS, whole
from tests.states.made import made_snapshot

NODES, PODS = 5_000, 50_000


def main() -> Counts:
    """Send a large cluster in every form and compare the responses by their bytes."""
    snapshot = made_snapshot(SeededDraw(0), NODES, PODS)
    print(f"{NODES:,} nodes, {PODS:,} pods, {snapshot.ByteSize():,} bytes")
    different = 0
    with server_here(short_engine()) as (_, address), Client(address, timeout=600) as client:
        expected = b""
        for form in (whole, *FORMS.values()):
            began = time.monotonic()
            answer = form(client, snapshot).SerializeToString(deterministic=True)
            expected = expected or answer
            verdict = "same" if answer == expected else "DIFFERENT"
            print(f"{form.__name__:20}{time.monotonic() - began:6.1f} s  {verdict}")
            different += answer != expected
    return Counts(len(FORMS) - different, different)
