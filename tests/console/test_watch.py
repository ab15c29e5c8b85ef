"""The watch: one subscription for all readers, which costs the service at most a set part of the time."""

import threading
import time
from collections.abc import Callable

from tenure.client import Client, StateSession
from tenure.console.view import ShardName
from tenure.console.watch import BURST_SECONDS, CallBudget, Watch
from tenure.console.workload_filter import MAX_CACHED

from tests.console.console_site import run_site, sample
from tests.server.servers import run_server

SHARD = ShardName("two-departments", "")


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_calls_take_at_most_their_share() -> None:
    now = [0.0]
    budget = CallBudget(0.01, clock=lambda: now[0])
    calls, took = 0, 0.05
    while now[0] < 1_000:
        wait = budget.wait_seconds()
        if wait > 1e-9:
            now[0] += wait
            continue
        with budget.spend():
            now[0] += took
        calls += 1
    assert budget.spent <= 0.01 * now[0] + BURST_SECONDS + took
    assert calls * took >= 0.009 * now[0]


def test_page_follows_the_state() -> None:
    with run_site(sample()) as site:
        assert "State version 1 " in site.text("queues")
        later = sample()
        later.version = 2
        later.now.seconds += 480
        site.session.update(later)
        site.session.decide()
        wait_for(lambda: "State version 2 " in site.text("queues"))
        assert "in 7m" not in site.row("workloads", "finetune")


def test_readers_are_told_of_changes() -> None:
    with run_site(sample()) as site:
        site.text("queues")
        told = threading.Event()
        with site.watch.listening(told.set):
            told.clear()
            later = sample()
            later.version = 2
            site.session.update(later)
            assert told.wait(20)


def test_one_subscription_serves_all_readers() -> None:
    with run_server() as (_, address), Client(address) as client, StateSession(client) as session:
        session.push(sample())
        calls = []
        watched = Client(address)
        read = watched.get_state_to_show
        watched.get_state_to_show = lambda *a, **k: calls.append(a) or read(*a, **k)  # type: ignore[method-assign,func-returns-value]
        with watched, Watch(watched, share=1.0, poll_seconds=0.02) as watch:
            views = {id(watch.view(SHARD)) for _ in range(50)}
            assert len(views) == len(calls) == 1


def test_last_view_stays_with_its_age_when_the_service_is_gone() -> None:
    with run_server() as (_, address), Client(address, timeout=1.0) as client:
        with StateSession(client) as session:
            session.push(sample())
        watch = Watch(client, share=1.0, poll_seconds=0.05).__enter__()
        assert watch.view(SHARD) is not None
    wait_for(lambda: bool(watch.problem))
    assert watch.view(SHARD) is not None
    watch.__exit__(None, None, None)


def test_filters_of_readers_do_not_fill_the_memory() -> None:
    with run_site(sample()) as site:
        for number in range(3 * MAX_CACHED):
            site.http.get(f"workloads?q={number}")
        view = site.watch.view(SHARD)
        assert view is not None
        assert len(view.caches) <= MAX_CACHED + 1
