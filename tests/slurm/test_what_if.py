"""Options of sbatch become the job that Slurm would list."""

import pytest
from tenure.slurm.observe.requests import NodeRequest, read_request
from tenure.slurm.observe.tres import Gpus
from tenure.slurm.what_if import OptionError, read_options


@pytest.mark.parametrize(
    ("options", "request_of_a_node"),
    [
        ("", NodeRequest(1, 1, 0, Gpus())),
        ("-N2 --gres=gpu:a100:8 --mem 64G -c 8", NodeRequest(2, 8, 65_536, Gpus(8, (("a100", 8),)))),
        ("--gpus=4", NodeRequest(1, 1, 0, Gpus(4))),
        ("-n8 -N2 --gpus-per-task=1 --mem-per-cpu=100", NodeRequest(2, 4, 400, Gpus(4))),
        ("--gpus-per-node=2 -C ib", NodeRequest(1, 1, 0, Gpus(2), (("ib",),))),
    ],
)
def test_options_of_sbatch(options: str, request_of_a_node: NodeRequest) -> None:
    job = read_options(options, "gpu", 5, 100)
    assert read_request(job) == request_of_a_node
    assert (job.partition, job.submit_time, job.state) == ("gpu", 100, "PENDING")


@pytest.mark.parametrize(
    ("time", "minutes"),
    [
        ("30", 30),
        ("30:01", 31),
        ("2:00:00", 120),
        ("1-12", 36 * 60),
        ("1-12:30", 36 * 60 + 30),
        ("1-00:00:01", 24 * 60 + 1),
        ("0", None),
        ("UNLIMITED", None),
    ],
)
def test_times_have_the_forms_of_slurm(time: str, minutes: int | None) -> None:
    assert read_options(f"--time={time}", "gpu", 5, 100).time_limit == minutes


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("--array=0-3", "unrecognized arguments: --array=0-3"),
        ("-N 0", "argument -N/--nodes"),
        ("--mem=lots", "argument --mem: 'lots' is not an amount of memory; use a value such as 64G"),
        ("--mem=8P", "argument --mem"),
        ("-t 1:2:3:4", "argument -t/--time: '1:2:3:4' is no time, such as 30"),
        ("-t soon", "argument -t/--time"),
        ('"', "No closing quotation"),
        ("script.sh", "unrecognized arguments: script.sh"),
    ],
)
def test_other_options_are_named(options: str, text: str) -> None:
    with pytest.raises(OptionError) as error:
        read_options(options, "gpu", 5, 100)
    assert text in str(error.value)
