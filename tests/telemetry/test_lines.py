"""Lines on standard error: text or JSON, one for each message, with their trace; another level by SIGHUP."""

import io
import json
import logging
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest
from opentelemetry.sdk.trace import TracerProvider
from tenure.client import Client
from tenure.server.telemetry.log_lines import JsonLines, TextLines

from tests.server.requeue_stories import one_job
from tests.server.running import serving_process
from tests.telemetry.receiver import receiving
from tests.telemetry.served import telling_server, write_configuration

FORGED = "job=a\n2026-01-01 00:00:00,000 ERROR tenure: \x1b[31mforged\u2028"


@pytest.fixture
def written() -> Iterator[Callable[..., str]]:
    """Writes one line with a formatter and returns what came out."""
    logger = logging.getLogger("tests.lines")
    logger.propagate = False

    def write(formatter: logging.Formatter, *message: object, exc_info: bool = False) -> str:
        handler = logging.StreamHandler(io.StringIO())
        handler.setFormatter(formatter)
        logger.addHandler(handler)
        logger.warning(*message, exc_info=exc_info)
        logger.removeHandler(handler)
        return handler.stream.getvalue()

    return write


def test_nobody_can_make_up_a_line_of_text(written: Callable[..., str]) -> None:
    line = written(TextLines("%(levelname)s %(message)s"), "%s", FORGED)
    assert line == r"WARNING job=a\n2026-01-01 00:00:00,000 ERROR tenure: \x1b[31mforged\u2028" + "\n"


def test_nobody_can_make_up_an_object_of_json(written: Callable[..., str]) -> None:
    line = written(JsonLines(), "%s", FORGED)
    assert line.isascii()
    assert line.count("\n") == 1
    assert json.loads(line)["message"] == FORGED


def test_an_object_has_time_level_logger_and_message(written: Callable[..., str]) -> None:
    fields = json.loads(written(JsonLines(), "so be it"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", fields.pop("time"))
    assert fields == {"level": "warning", "logger": "tests.lines", "message": "so be it"}


def test_a_traceback_is_part_of_the_object(written: Callable[..., str]) -> None:
    try:
        raise KeyError("inside")
    except KeyError:
        fields = json.loads(written(JsonLines(), "broken", exc_info=True))
    assert fields["exception"].startswith("Traceback (most recent call last):\n")
    assert fields["exception"].endswith("KeyError: 'inside'")


def test_a_line_within_a_span_names_its_trace(written: Callable[..., str]) -> None:
    with TracerProvider().get_tracer("tests").start_as_current_span("any") as span:
        text, fields = written(TextLines("%(message)s"), "x"), json.loads(written(JsonLines(), "x"))
    context = span.get_span_context()
    assert text == f"x [trace {context.trace_id:032x}]\n"
    assert (fields["trace_id"], fields["span_id"]) == (f"{context.trace_id:032x}", f"{context.span_id:016x}")


def test_lines_and_spans_of_a_call_have_one_trace(tmp_path: Path) -> None:
    logs = {"format": "json", "level": "debug"}
    with (
        receiving() as (received, address),
        telling_server(tmp_path, otlpEndpoint=f"http://{address}", logs=logs) as (process, server),
    ):
        with Client(server) as client:
            client.decide(one_job(), ["requeue"])
        spans = received.until(lambda got: got.named("tenure.v1.DecisionService/Decide"))
        sent = received.until(lambda got: [line for line in got.lines if line.severity_text == "DEBUG"])
        process.terminate()
        objects = [json.loads(line) for line in process.communicate(timeout=30)[1].splitlines()]
    (debug,) = [each for each in objects if each["level"] == "debug"]
    assert debug["message"].startswith("Requeue eligibility: ")
    assert debug["trace_id"] == spans[0].trace_id.hex() == sent[0].trace_id.hex()
    assert debug["message"] == sent[0].body.string_value


def level_after(process: "subprocess.Popen[str]", errors: IO[str], text: str) -> None:
    """Let the server read its configuration again, and wait until it says so."""
    os.kill(process.pid, signal.SIGHUP)
    while text not in (line := errors.readline()):
        assert line


def test_hang_up_changes_the_level_while_the_server_runs(tmp_path: Path) -> None:
    file = tmp_path / "telling.yaml"
    write_configuration(file, logs={"level": "warning"})
    with (
        serving_process("--no-records", "--config", str(file)) as (process, address),
        Client(address) as client,
    ):
        assert process.stderr is not None
        client.decide(one_job(), ["requeue"])
        write_configuration(file, logs={"level": "debug"})
        level_after(process, process.stderr, "Lines are written from level debug on.")
        client.decide(one_job(), ["requeue"])
        file.write_text("telemetry: {logs: {level: loud}}")
        level_after(
            process, process.stderr, "telemetry.logs.level: Input should be 'debug', 'info', 'warning'"
        )
        client.decide(one_job(), ["requeue"])
        write_configuration(file, logs={"level": "error"})
        os.kill(process.pid, signal.SIGHUP)
        time.sleep(0.5)
        client.decide(one_job(), ["requeue"])
        process.terminate()
        rest = process.stderr.read()
    assert rest.count("Requeue eligibility: ") == 1
    assert process.wait(20) == 0


def test_what_the_command_line_says_stays(tmp_path: Path) -> None:
    file = tmp_path / "telling.yaml"
    write_configuration(file, logs={"level": "debug"})
    arguments = ("--no-records", "--config", str(file), "--log-level", "warning")
    with serving_process(*arguments) as (process, address), Client(address) as client:
        assert process.stderr is not None
        level_after(process, process.stderr, "The level of lines stays warning: --log-level says so.")
        client.decide(one_job(), ["requeue"])
        process.terminate()
        assert "Requeue" not in process.stderr.read()
