"""`make delta-sequences`: ten thousand random sequences of good and bad deltas."""

import sys

from tests.states.walk import walk

SEQUENCES = 10_000


def main() -> None:
    for seed in range(SEQUENCES):
        walk(seed)
        if seed % 1_000 == 999:
            print(f"{seed + 1:,} sequences", flush=True)


if __name__ == "__main__":
    sys.exit(main())
