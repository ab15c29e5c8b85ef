"""The HTML page: offline, with a definition beside every figure, and safe for hostile names."""

import re
from dataclasses import replace
from html.parser import HTMLParser

from tenure.simulator.baselines import Baseline
from tenure.simulator.comparison import Policy
from tenure.simulator.jobs import BadLine, Trace
from tenure.simulator.metrics import DEFINITIONS
from tenure.simulator.report.charts import (
    RUN_COLORS,
    allocation_chart,
    eviction_chart,
    pending_chart,
    queue_chart,
    wait_chart,
)
from tenure.simulator.report.figures import SECTIONS
from tenure.simulator.report.page import render_page
from tenure.simulator.runs import RunInput, play

from tests.simulator.played import job, run_input

HOSTILE = "</script><b onload=x>\u202e'\""


def runs():
    jobs = [job(f"{HOSTILE}{i}", 60 * i, 3_000, 4, "ab"[i % 2] + HOSTILE) for i in range(8)]
    run = run_input(jobs, (1, 8))
    trace = Trace(run.trace.jobs, [BadLine(7, f"is {HOSTILE}")], [HOSTILE])
    first = RunInput(f"one {HOSTILE}", trace, run.cluster, run.settings, run.policy)
    second = RunInput("two", trace, run.cluster, run.settings, Baseline.FIFO)
    return [play(first), play(second)]


class Tags(HTMLParser):
    """Tags and the attributes that load or run something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update(attrs)


def test_the_page_is_offline_and_runs_nothing():
    page = render_page(runs())
    found = Tags(page)
    assert not found.tags & {"script", "b", "iframe", "link", "img", "object"}
    assert not [name for name, _ in found.attributes if name.startswith("on")]
    assert not [value for name, value in found.attributes if name in ("src", "href") and value[:1] != "#"]
    assert "\u202e" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)


def test_pictures_are_svg_with_text_and_each_has_a_table_or_definition():
    page = render_page(runs())
    assert page.count("<svg") >= 5
    assert page.count("<figure") == page.count("<svg")
    assert re.search(r"<svg.*?<text", page, re.DOTALL)


def test_the_verdict_and_the_pictures_precede_the_tables():
    page = render_page(runs())
    verdict, picture, table = (page.index(mark) for mark in ('class="verdict"', "<svg", "<tr><th>Metric"))
    assert verdict < picture < table
    assert page.index("<strong>two</strong> against") < picture
    assert "<li><strong>About the same:</strong> " in page
    for head in ("p99 wait", "Longest wait"):
        assert f"{head}</th>" in page


def test_a_colour_means_the_same_run_in_every_picture():
    played = runs()
    policies = [Policy(run.input.name, [run.metrics]) for run in played]
    names = [run.input.name for run in played]
    for spec in (allocation_chart(played), pending_chart(played)):
        assert spec["encoding"]["color"]["scale"] == {"domain": names, "range": list(RUN_COLORS[:2])}
    bars = wait_chart(policies, "wait", "Wait", is_time=True)["spec"]["layer"][0]
    assert bars["encoding"]["color"]["scale"] == {"domain": names, "range": list(RUN_COLORS[:2])}
    others = [eviction_chart(played), queue_chart(played[0])]
    for spec in filter(None, others):
        assert not set(spec["encoding"]["color"]["scale"]["range"]) & set(RUN_COLORS)


def test_every_figure_has_its_definition_and_its_difference():
    page = render_page(runs())
    for _, figures in SECTIONS:
        for figure in figures:
            assert figure.definition in DEFINITIONS
    assert page.count('class="definition"') > len(DEFINITIONS)
    row = re.search(r"<tr><td>Evictions</td>.*?</tr>", page).group()
    assert [int(cell) for cell in re.findall(r">(\d+)<", row)][1] == 0


def test_the_story_of_a_job_is_told():
    assert "starts on node-00000" in render_page(runs())


def test_jobs_that_gain_and_lose_between_runs_are_listed():
    jobs = [job("long", 0, 9_000, 8, "a"), job("short", 60, 60, 4, "b"), job("last", 70, 60, 1, "a")]
    second = run_input(jobs, (1, 8))
    first = replace(second, name="first", policy=Baseline.FIFO)
    page = render_page([play(first), play(second)])
    lost, gained = page.index("Jobs that lose most"), page.index("Jobs that gain most")
    assert lost < gained
    assert "long" in page[lost:gained]
    assert "short" in page[gained:]
