"""The check `full-size`: 5,000 nodes and 50,000 pods, sent in every form, lead to the same response."""

import time

from tenure.client import Client

from tests.checks import Counts
from tests.properties.generators.draw import SeededDraw
from tests.server.servers import run_server
from tests.state.generated_snapshots import generate_snapshot
from tests.state.short_engine import short_engine
from tests.state.snapshot_forms import FORMS, send_whole

NODES, PODS = 5_000, 50_000


def main() -> Counts:
    """Send a large cluster in every form and compare the responses by their bytes."""
    snapshot = generate_snapshot(SeededDraw(0), NODES, PODS)
    print(f"{NODES:,} nodes, {PODS:,} pods, {snapshot.ByteSize():,} bytes")
    different = 0
    with run_server(short_engine()) as (_, address), Client(address, timeout=600) as client:
        expected = b""
        for form in (send_whole, *FORMS.values()):
            began = time.monotonic()
            answer = form(client, snapshot).SerializeToString(deterministic=True)
            expected = expected or answer
            verdict = "same" if answer == expected else "DIFFERENT"
            print(f"{form.__name__:20}{time.monotonic() - began:6.1f} s  {verdict}")
            different += answer != expected
    return Counts(len(FORMS) - different, different)
