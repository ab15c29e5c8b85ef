"""Log records on standard error: text or JSON, with their trace; level changes by SIGHUP."""

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
from tenure.process.log_format import JsonFormatter, TextFormatter

from tests.server.servers import run_server_process
from tests.server.telemetry.requeue_cases import one_job
from tests.telemetry.otlp_receiver import run_receiver
from tests.telemetry.telemetry_server import run_telemetry_server, write_configuration

FORGED = "job=a\n2026-01-01 00:00:00,000 ERROR tenure: \x1b[31mforged\u2028"


@pytest.fixture
def format_record() -> Iterator[Callable[..., str]]:
    """Format one log record and return the output."""
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


def test_text_record_cannot_be_forged(format_record: Callable[..., str]) -> None:
    line = format_record(TextFormatter("%(levelname)s %(message)s"), "%s", FORGED)
    assert line == r"WARNING job=a\n2026-01-01 00:00:00,000 ERROR tenure: \x1b[31mforged\u2028" + "\n"


def test_json_record_cannot_be_forged(format_record: Callable[..., str]) -> None:
    line = format_record(JsonFormatter(), "%s", FORGED)
    assert line.isascii()
    assert line.count("\n") == 1
    assert json.loads(line)["message"] == FORGED


def test_json_record_has_time_level_logger_and_message(format_record: Callable[..., str]) -> None:
    fields = json.loads(format_record(JsonFormatter(), "so be it"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", fields.pop("time"))
    assert fields == {"level": "warning", "logger": "tests.lines", "message": "so be it"}


def test_traceback_is_part_of_the_json_record(format_record: Callable[..., str]) -> None:
    try:
        raise KeyError("inside")
    except KeyError:
        fields = json.loads(format_record(JsonFormatter(), "broken", exc_info=True))
    assert fields["exception"].startswith("Traceback (most recent call last):\n")
    assert fields["exception"].endswith("KeyError: 'inside'")


def test_record_within_a_span_names_its_trace(format_record: Callable[..., str]) -> None:
    with TracerProvider().get_tracer("tests").start_as_current_span("any") as span:
        text, fields = (
            format_record(TextFormatter("%(message)s"), "x"),
            json.loads(format_record(JsonFormatter(), "x")),
        )
    context = span.get_span_context()
    assert text == f"x [trace {context.trace_id:032x}]\n"
    assert (fields["trace_id"], fields["span_id"]) == (f"{context.trace_id:032x}", f"{context.span_id:016x}")


def test_records_and_spans_of_a_call_share_a_trace(tmp_path: Path) -> None:
    logs = {"format": "json", "level": "debug"}
    with (
        run_receiver() as (received, address),
        run_telemetry_server(tmp_path, otlpEndpoint=f"http://{address}", logs=logs) as (process, server),
    ):
        with Client(server) as client:
            client.decide(one_job(), ["requeue"])
        spans = received.wait_until(lambda got: got.named("tenure.v1.DecisionService/Decide"))
        sent = received.wait_until(lambda got: [line for line in got.lines if line.severity_text == "DEBUG"])
        process.terminate()
        objects = [json.loads(line) for line in process.communicate(timeout=30)[1].splitlines()]
    (debug,) = [each for each in objects if each["level"] == "debug"]
    assert debug["message"].startswith("Requeue eligibility: ")
    assert debug["trace_id"] == spans[0].trace_id.hex() == sent[0].trace_id.hex()
    assert debug["message"] == sent[0].body.string_value


def level_after_reload(process: "subprocess.Popen[str]", errors: IO[str], text: str) -> None:
    """Send SIGHUP to the server and wait until it logs the reload."""
    os.kill(process.pid, signal.SIGHUP)
    while text not in (line := errors.readline()):
        assert line


def test_sighup_changes_the_level_of_a_running_server(tmp_path: Path) -> None:
    file = tmp_path / "telling.yaml"
    write_configuration(file, logs={"level": "warning"})
    with (
        run_server_process("--no-records", "--config", str(file)) as (process, address),
        Client(address) as client,
    ):
        assert process.stderr is not None
        client.decide(one_job(), ["requeue"])
        write_configuration(file, logs={"level": "debug"})
        level_after_reload(process, process.stderr, "Log level set to debug.")
        client.decide(one_job(), ["requeue"])
        file.write_text("telemetry: {logs: {level: loud}}")
        level_after_reload(
            process, process.stderr, "telemetry.logs.level: must be 'debug', 'info', 'warning'"
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


def test_level_of_the_command_line_is_not_reloaded(tmp_path: Path) -> None:
    file = tmp_path / "telling.yaml"
    write_configuration(file, logs={"level": "debug"})
    arguments = ("--no-records", "--config", str(file), "--log-level", "warning")
    with run_server_process(*arguments) as (process, address), Client(address) as client:
        assert process.stderr is not None
        level_after_reload(process, process.stderr, "Log level stays warning (set by --log-level).")
        client.decide(one_job(), ["requeue"])
        process.terminate()
        assert "Requeue" not in process.stderr.read()
