"""Plain cases of this project, which run in every checkout."""

from tests.conformance.cases import Case
from tests.conformance.small_cases import PENDING, case, expect, job, node, queue


def plain_cases() -> list[Case]:
    """Return cases with whole GPUs only, with behavior that every scheduler of this kind has."""
    running, two_nodes = ("Running", "node0"), [node("node0", 2), node("node1", 2)]
    q0, q1 = queue("queue0", 2, order=0), queue("queue1", 2, order=1)
    return [
        case(
            "a free GPU is taken",
            [node("node0", 1)],
            [q0],
            [job("pending", "queue0", [PENDING])],
            {"pending": expect("Binding", "node0", last_start_set=True)},
            calls=(1, 0, 0),
        ),
        case(
            "a gang that does not fit waits whole",
            two_nodes,
            [q0],
            [job("gang", "queue0", [PENDING] * 3, gpus=2)],
            {"gang": expect("Pending", gpus=6, error_message="no room")},
        ),
        case(
            "the fuller node is filled first",
            two_nodes,
            [q0],
            [job("running", "queue0", [running]), job("pending", "queue0", [PENDING])],
            {"running": expect("Running", "node0"), "pending": expect("Binding", "node0")},
            calls=(1, 0, 0),
        ),
        case(
            "a queue below its share reclaims from one above",
            two_nodes,
            [q0, q1],
            [
                job("low", "queue0", [running, running]),
                job("high", "queue0", [("Running", "node1")] * 2, priority=60),
                job("pending", "queue1", [PENDING] * 2),
            ],
            {
                "low": expect("Releasing", "node0", gpus=2),
                "high": expect("Running", "node1", gpus=2),
                "pending": expect("Pipelined", "node0", gpus=2),
            },
            actions=("reclaim",),
            calls=(0, 2, 2),
        ),
        case(
            "a higher priority preempts in its queue, and only there",
            two_nodes,
            [q0, q1],
            [
                job("important", "queue0", [PENDING], gpus=2, priority=80),
                job("mine", "queue0", [running], gpus=2, priority=60),
                job("foreign", "queue1", [("Running", "node1")], gpus=2),
            ],
            {
                "important": expect("Pipelined", "node0", gpus=2),
                "mine": expect("Releasing", "node0", gpus=2),
                "foreign": expect("Running", "node1", gpus=2),
            },
            actions=("preempt",),
            calls=(0, 1, 1),
        ),
        case(
            "equal priority does not preempt",
            [node("node0", 2)],
            [q0],
            [job("pending", "queue0", [PENDING], gpus=2), job("running", "queue0", [running], gpus=2)],
            {"pending": expect("Pending", gpus=2), "running": expect("Running", "node0", gpus=2)},
            actions=("preempt",),
        ),
        case(
            "rounds end in a stable state",
            [node("node0", 2)],
            [q0],
            [job("first", "queue0", [PENDING], gpus=2, priority=60), job("second", "queue0", [PENDING])],
            {"first": expect("Running", "node0", gpus=2), "second": expect("Pending")},
            calls=(1, 0, 0),
            run={
                "mode": "rounds",
                "actions": ["allocate", "reclaim", "preempt"],
                "rounds_until_match": 2,
                "rounds_after_match": 2,
            },
        ),
    ]
