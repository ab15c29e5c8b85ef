"""Published results of the exam: percent of the GPUs in use when 130 % have arrived, means of ten seeds.

From the file `analysis_allo_discrete.csv` of the simulator that introduced Fragmentation Gradient Descent.
"""

from collections.abc import Mapping
from typing import Final

FGD: Final[Mapping[str, float]] = {
    "default": 95.39,
    "cpu100": 95.35,
    "cpu250": 93.41,
    "gpushare40": 94.15,
    "gpushare100": 86.90,
    "gpuspec10": 94.95,
    "gpuspec33": 94.55,
    "multigpu20": 95.65,
    "multigpu50": 97.18,
}
"""By list."""
