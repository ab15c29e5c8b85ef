"""Commands that do not exist, and options and values that programs do not know, are found."""

import pytest

from tests.repository.command_lines import check_line, sentences


@pytest.mark.parametrize(
    "line",
    [
        "tenure nothing",
        "tenure play trace.csv --nothing 1",
        "tenure play trace.csv other.csv",
        "tenure play trace.csv --baseline nothing",
        "kubectl tenure nothing",
        "kubectl tenure set nothing job/train 1h",
        "python -m tests nothing",
        "python -m tests --nothing",
        "python -m tests build nothing",
        "python -m tests victims --nothing",
        "python -m tests victims many",
        "python -m tests.bench.nothing",
        "python -m tests.bench.eta_backtest philly.csv --days many",
        "python docker/release/nothing.py",
        "python docker/release/version.py --nothing 1",
        "make nothing",
        "make test NOTHING=1",
        "make bench BENCH='--nothing'",
        "make bench BENCH='--way nothing'",
        "make lock LOCK=--nothing",
        "make slurm-e2e SLURM=tests/nothing",
        "helm install docker/nothing",
        "nothing",
    ],
)
@pytest.mark.parametrize("whole", [True, False])
def test_what_does_not_exist_is_found(line: str, whole: bool) -> None:
    with pytest.raises((Exception, SystemExit)):
        check_line(line, whole=whole)


@pytest.mark.parametrize("line", ["tenure serve --config", "tenure explain ...", "make bench BENCH=--only"])
def test_only_sentences_may_leave_out_values(line: str) -> None:
    check_line(line, whole=False)


def test_a_command_in_a_block_needs_its_values() -> None:
    with pytest.raises(Exception, match="requires an argument"):
        check_line("tenure serve --config")


def test_commands_are_found_in_sentences_and_tables() -> None:
    page = "Use `make\ntest`, `tenure`, not `x y`.\n\n| `tenure decide a \\| b` |\n\n```sh\n`make x`\n```\n"
    assert list(sentences(page)) == ["make test", "tenure decide a | b"]
