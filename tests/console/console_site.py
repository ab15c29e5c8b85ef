"""A console over a real server: pages by HTTP without a browser, on states that a test pushes."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape

from starlette.testclient import TestClient
from tenure.client import Client, StateSession
from tenure.client.snapshot_file import read_snapshot
from tenure.codec.engine import Engine
from tenure.console.access import Access
from tenure.console.watch import Watch
from tenure.console.web import Site, SiteOptions
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.e2e.command import SAMPLE
from tests.server.servers import run_server

OPERATOR = SiteOptions()


def sample() -> ClusterSnapshot:
    """The sample of two departments."""
    return read_snapshot(str(SAMPLE))


def with_runtimes() -> ClusterSnapshot:
    """The sample, in which all that runs says how long: `nightly-eval` waits for `sweep`."""
    snapshot = sample()
    for number, group in enumerate(snapshot.pod_groups):
        if group.HasField("last_start_time"):
            ran = snapshot.now.seconds - group.last_start_time.seconds
            group.expected_runtime.seconds = ran + 600 * (1 + number)
    return snapshot


@contextmanager
def run_site(
    *snapshots: ClusterSnapshot, options: SiteOptions = OPERATOR, engine: Engine | None = None
) -> Iterator["ReadSite"]:
    """A console on a server that has these states, each decided once."""
    with run_server(engine) as (_, address), Client(address) as client, StateSession(client) as session:
        for snapshot in snapshots:
            session.push(snapshot)
            session.decide()
        with Watch(client, share=1.0, poll_seconds=0.05) as watch:
            site = Site(watch, Access(client), options).application()
            yield ReadSite(TestClient(site, base_url="http://localhost"), session, watch)


class ReadSite:
    """Pages of a console."""

    def __init__(self, http: TestClient, session: StateSession, watch: Watch) -> None:
        self.http, self.session, self.watch = http, session, watch

    def html(self, path: str, status: int = 200) -> str:
        """A page as it is sent."""
        response = self.http.get(path)
        assert response.status_code == status, response.text[:500]
        return response.text

    def text(self, path: str, status: int = 200) -> str:
        """The content of a page as it is read, without markup."""
        return text_of(self.html(path, status))

    def row(self, path: str, name: str) -> str:
        """The row of a table that begins with a name."""
        return text_of(row_of(self.html(path), name))


def text_of(html: str) -> str:
    """Text of markup, with single spaces."""
    main = html.partition("<main")[2] or html
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", "<main" + main)).split())


def row_of(html: str, name: str) -> str:
    """The table row with a link or name."""
    rows = re.findall(r"<tr id.*?</tr>", html, re.DOTALL)
    (found,) = (row for row in rows if f">{name}</bdi>" in row.partition("</th>")[0])
    return str(found)
