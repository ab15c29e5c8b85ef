"""Times of the reference scheduler in milliseconds, for comparison with Tenure's times.

They include the construction of the session and exclude binding and evicting, like `decide`.
"""

from typing import Final

PUBLISHED_MS: Final = {
    "W1@S": 7,
    "W1@M": 28,
    "W1@L": 92,
    "W2@S": 3,
    "W2@M": 5,
    "W3@S": 4,
    "W3@M": 11,
    "W4@S": 15,
    "W4@M": 120,
    "W5@S": 5,
    "W5@M": 17,
    "W5@L": 51,
    "W6@M": 32,
    "W7@M": 44,
    "W8@10": 5,
    "W8@50": 34,
    "W8@100": 85,
    "W8@200": 270,
    "W8@500": 1_315,
    "W8@1000": 5_750,
    "W9@10": 62,
    "W9@50": 920,
    "W9@100": 3_590,
    "W9@200": 19_600,
    "W9@500": 59_210,
    "W9m@500": 132_600,
    "W10@10": 29,
    "W10@50": 4_090,
    "W10@100": 20_400,
    "W10aa@100": 18_970,
    "W11@1500": 2.1,
}
"""Best medians of its own benchmarks over its published history, on hosted machines with four cores. The wait
of 100 ms in its test harness is subtracted (W11 has no such wait).
"""
TWO_CORES_MS: Final = {
    "W1@S": 7.6,
    "W1@M": 25.6,
    "W1@L": 86.5,
    "W4@S": 15.7,
    "W4@M": 133,
    "W5@S": 3.3,
    "W5@M": 16.3,
    "W5@L": 50,
    "W6@M": 29.8,
    "W7@M": 44.6,
    "W8@100": 460,
    "W8@500": 6_050,
    "W8@1000": 28_400,
    "W9@100": 2_840,
    "W9@200": 12_000,
    "W9@500": 108_600,
    "W10@10": 46,
    "W10@50": 2_560,
    "W10@100": 14_800,
}
"""The benchmarks of the reference, measured by this project on a machine with two cores."""
