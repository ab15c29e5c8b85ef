"""`tenure sweep`: play a trace with many configurations, and find the best ones."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from tenure.process.options import Output

if TYPE_CHECKING:
    from tenure.cli.sweep.results import ResultFolder
    from tenure.cli.sweep.single_run import Files, SingleRun
    from tenure.simulator.jobs import Trace
    from tenure.simulator.sweeps.study import Point, Study

FAILED: Final = 1
"""Exit code: a run failed, or a protection was not kept."""


def sweep(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="YAML file: what to vary, seeds and goals.")],
    results: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where runs are kept. Default: STUDY-runs."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes of this machine. Default: one for each core.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Dask scheduler with the workers. Requires tenure[sweep]."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write an HTML page. Requires tenure[report].")
    ] = None,
    output: Annotated[Output, typer.Option(help="Output format.")] = Output.TABLE,
) -> None:
    """Play a trace with many configurations, and find those that no other one beats.

    \b
      tenure sweep study.yaml --report frontier.html
      tenure sweep study.yaml --scheduler tcp://10.0.0.1:8786

    STUDY names the trace and the cluster as `tenure play` does, the values to vary, the seeds, and figures as
    goals and constraints. Each point is played once for each seed.

    Runs that are done are kept in FOLDER. The same command goes on after Ctrl-C, a crash or the loss of a
    worker, and ends with the same results on any number of workers. FOLDER has the configuration of each
    point for `tenure serve --config`.

    Exit status: 0 done; 1 a run failed, or a protection was not kept; 2 invalid command line or file; 130
    interrupted; 143 terminated.
    """
    from tenure.cli.interrupts import clean_end
    from tenure.cli.play.inputs import check_file, check_report, invalid_input, make_folder
    from tenure.cli.sweep.engines import SweepError, run_in_processes, run_on_dask
    from tenure.cli.sweep.output import counted, show_results
    from tenure.cli.sweep.results import ResultFolder
    from tenure.simulator.sweeps.frontier import evaluate
    from tenure.simulator.sweeps.study import points_of
    from tenure.simulator.traces.formats import is_records

    if report is not None:
        check_report()
        check_file(report, "--report")
    if scheduler is not None:
        _check_dask(workers)
    path = results or study.with_name(f"{study.stem}-runs")
    folder = ResultFolder(path)
    with invalid_input():
        read, base, files = _read(study, folder)
        points = points_of(read)
        runs, trace = _runs(read, base, files, points)
    make_folder(path, "--results")
    records = study.parent / read.trace
    if is_records(records):
        folder.keep_copy(records, files["trace"][1])
        copy = f"plays {folder.copy_of(records)}, a copy; delete it to play what was recorded since"
        typer.echo(f"tenure: {copy}", err=True)
    folder.write_configurations(points, base)
    open_runs = list({run.digest: run for run in runs if not folder.has(run)}.values())
    advice = f"call it again to go on from {folder.path}"
    with clean_end(advice), counted(len(runs), len(open_runs)) as note:

        def keep(run: "SingleRun", content: bytes) -> None:
            folder.keep(run, content)
            note(run)

        try:
            if scheduler is not None and open_runs:
                run_on_dask(open_runs, files, scheduler, keep)
            else:
                run_in_processes(open_runs, files, workers or os.cpu_count() or 1, keep, _print_problem)
        except SweepError as error:
            typer.echo(f"tenure: {error}; {advice}", err=True)
            raise typer.Exit(FAILED) from None
    by_point: dict[int, list[dict[str, Any]]] = {point.number: [] for point in points}
    with invalid_input():
        for run in runs:
            by_point[run.point].append(folder.read(run))
        found = evaluate(read, points, by_point)
    show_results(read, trace, found, by_point, folder, report, output)
    if any(result.violations for result in found):
        raise typer.Exit(FAILED)


def _print_problem(problem: str) -> None:
    typer.echo(f"tenure: {problem}", err=True)


def _check_dask(workers: int | None) -> None:
    if workers is not None:
        raise typer.BadParameter("cannot be used with --scheduler", param_hint="--workers")
    try:
        import distributed  # noqa: F401 fail before the runs
    except ImportError:
        problem = "requires the packages of tenure[sweep]: pip install 'tenure[sweep]'"
        raise typer.BadParameter(problem, param_hint="--scheduler") from None


def _read(file: Path, folder: "ResultFolder") -> "tuple[Study, dict[str, Any], Files]":
    """The study, its base configuration, and the files of its runs; paths are relative to the study.

    Of a records file, the copy in the folder of results is taken, if there is one.
    """
    from tenure.process.configuration import read_document
    from tenure.server.settings import load_settings
    from tenure.simulator.jobs import TraceError
    from tenure.simulator.sweeps.study import read_study

    content = _parsed(file)
    try:
        study = read_study(content)
    except TraceError as error:
        raise TraceError(f"{file}: {error}") from None
    files = {}
    for key, name in (("trace", study.trace), ("cluster", study.cluster)):
        if name is not None:
            path = file.parent / name
            try:
                files[key] = (path.name, _content(path, folder))
            except OSError as error:
                raise TraceError(f"{file}: {key}: {path}: {error.strerror}") from None
    if study.config is None:
        return study, {}, files
    config = file.parent / study.config
    load_settings(config)
    document = read_document(config)
    return study, document if isinstance(document, dict) else {}, files


def _content(path: Path, folder: "ResultFolder") -> bytes:
    """The content of a file. Of records, their copy, else what they have now: a server may write them."""
    from tenure.server.records import RecordsFile
    from tenure.simulator.traces.formats import is_records

    if not is_records(path):
        return path.read_bytes()
    copy = folder.copy_of(path)
    with RecordsFile(copy if copy.exists() else path) as records:
        return records.content()


def _parsed(file: Path) -> object:
    import yaml
    from tenure.simulator.jobs import TraceError
    from tenure.wire.yaml_limits import limit_events

    try:
        text = file.read_text(encoding="utf-8")
        for _ in limit_events(yaml.parse(text)):
            pass
        return yaml.safe_load(text)
    except OSError as error:
        raise TraceError(f"{file}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise TraceError(f"{file}: is not YAML: {str(error).splitlines()[0]}") from None


def _runs(
    study: "Study", base: dict[str, Any], files: "Files", points: "list[Point]"
) -> "tuple[list[SingleRun], Trace]":
    """Every point with every seed, and the trace of the first one.

    The inputs of each point are built once, so that errors come first.
    """
    from tenure.cli.sweep.single_run import OPTIONS, SWITCHES, SingleRun, build_input, digest_of
    from tenure.simulator.jobs import TraceError

    names = (*OPTIONS, *SWITCHES)
    if unknown := sorted(set(study.settings) - set(names)):
        raise TraceError(f"settings.{unknown[0]}: unknown; use {', '.join(names)}")
    known = digest_of(files)
    runs = []
    for point in points:
        description = json.dumps(
            {
                "format": study.form,
                "shard": study.shard,
                "nodes": study.nodes,
                "until": study.until,
                "resample": study.resample,
                "settings": study.settings,
                "quotas": point.quotas,
                "config": point.configuration(base),
            },
            sort_keys=True,
        )
        runs += [SingleRun(point.number, seed, description, known) for seed in study.seeds]
    trace = build_input(runs[0], files).trace
    checked = {_varied(runs[0])}
    for run in runs:
        if (varied := _varied(run)) not in checked:
            checked.add(varied)
            build_input(run, files)
    return runs, trace


def _varied(run: "SingleRun") -> str:
    """What may be wrong with the input of one point and not with that of another."""
    described = json.loads(run.description)
    return json.dumps([described["config"], sorted(described["quotas"])], sort_keys=True)
