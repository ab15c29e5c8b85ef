"""Names of strangers are text on every page, in every field and in the file, whatever they contain."""

from collections.abc import Iterator
from html import unescape

import pytest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.console.console_site import ReadSite, run_site, sample

NAMES = (
    "<script>alert(1)</script>",
    "</title></svg></textarea><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x=\'',
    "' autofocus onfocus=alert(1) '",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)//",
    "a\u202egpj.exe\u202c",
    "\u2066left\u2069\u200b",
    "a&lt;b>&amp;amp;",
    "]]>--><!--",
    "x" * 253,
    "日本語 ✓ é",
    "../../etc/passwd?a=b&c=d#e",
    '=HYPERLINK("http://evil")',
)
BIDI = "\u202e\u202c\u2066\u2069\u200b"


def hostile() -> ClusterSnapshot:
    """The sample with hostile names of the cluster, queues, pod groups, namespaces, nodes and pods."""
    snapshot = sample()
    snapshot.cluster_id = "<b>cluster</b>\u202e"
    renamed = {}
    for index, queue in enumerate(snapshot.queues):
        renamed[queue.name] = f"{NAMES[index % len(NAMES)]}"[:250] + str(index)
    for queue in snapshot.queues:
        queue.name, queue.parent = renamed[queue.name], renamed.get(queue.parent, "")
    for index, group in enumerate(snapshot.pod_groups):
        group.queue = renamed[group.queue]
        group.name = NAMES[index % len(NAMES)]
        group.namespace = NAMES[(index + 3) % len(NAMES)]
    nodes = {}
    for index, node in enumerate(snapshot.nodes):
        nodes[node.name] = NAMES[index] if index != 1 else NAMES[6]
        node.name = nodes[node.name]
    for index, pod in enumerate(snapshot.pods):
        pod.name = NAMES[index % len(NAMES)]
        if pod.node:
            pod.node = nodes[pod.node]
    return snapshot


@pytest.fixture(scope="module")
def site() -> Iterator[ReadSite]:
    with run_site(hostile()) as site:
        yield site


PATHS = (
    *("queues", "workloads", "decisions", "nodes", "health", "what-if", "workload?uid=sweep"),
    *("workload?uid=nightly-eval", "explain?uid=nightly-eval&question=why_pending"),
    *(
        "explain?uid=finetune&question=protected_until",
        "nodes?q=%3Cscript%3E",
        "workloads?q=%22%3E%3Cscript%3E",
    ),
    "what-if?run=1&queue=%3Cscript%3E&name=%3Cscript%3Ealert(1)%3C/script%3E&pods=%22%3E%3Cimg%20src=x%3E",
    *("workload?uid=%3Cscript%3E", "queues?cluster=%3Cscript%3E", "queues?resource=%3Cscript%3E"),
)


@pytest.mark.parametrize("path", PATHS)
def test_no_name_becomes_markup(site: ReadSite, path: str) -> None:
    html = site.http.get(path).text
    for tag in ("<script>", "<img", "<b>cluster", "onerror=alert(1)>", '" onmouseover="', "' autofocus"):
        assert tag not in html
    assert not set(BIDI) & set(html)
    assert "49" not in [each.strip() for each in html.split("<bdi")]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_shown_as_they_are_and_invisible_characters_as_codes(site: ReadSite, name: str) -> None:
    shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in name)
    assert shown in unescape(site.html("workloads"))


def test_links_lead_to_workloads_with_hostile_names(site: ReadSite) -> None:
    html = site.html("workloads?q=%3Cscript%3E")
    path = unescape(html.partition('<th scope="row"><div><a href="')[2].partition('"')[0])
    assert "<script>alert(1)</script>" in site.text(path)


def test_no_cell_of_the_file_is_a_formula(site: ReadSite) -> None:
    content = site.http.get("workloads.csv").text
    assert "\n=" not in content
    assert ",=" not in content
    assert ',"=' not in content
    assert "'=HYPERLINK" in content
    assert not set(BIDI) & set(content)
