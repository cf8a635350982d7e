"""Result files of the UAI competitions: MPE, PR and MAR.

Everything is in the order of the model file, observed variables included.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from mapreroot.errors import ModelError

__all__ = ["write_mar", "write_mpe", "write_pr"]


def write_mpe(x: npt.ArrayLike) -> str:
    """Spell a most probable assignment.

    Examples
    --------
    >>> print(write_mpe([0, 0, 1]), end="")
    MPE
    3 0 0 1
    """
    values = np.asarray(x)
    if values.ndim != 1 or not np.isin(values, (0, 1)).all():
        raise ModelError(f"x is {x!r}: expected one assignment of 0 and 1")
    return "MPE\n" + " ".join(map(str, [len(values), *values.astype(int).tolist()])) + "\n"


def write_pr(ln_z: float) -> str:
    """Spell a partition function, given as its natural logarithm: the file holds log10 Z.

    Examples
    --------
    >>> print(write_pr(4.29045944115), end="")
    PR
    1.863323
    """
    return f"PR\n{ln_z / math.log(10):.6f}\n"


def write_mar(p: npt.ArrayLike) -> str:
    """Spell single marginals, given p(x_i = 1).

    Examples
    --------
    >>> print(write_mar([0.25, 1.0]), end="")
    MAR
    2 2 0.75 0.25 2 0.0 1.0
    """
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise ModelError("p holds something other than probabilities")
    words = [str(len(values)), *(f"2 {1 - q!r} {q!r}" for q in values.tolist())]
    return "MAR\n" + " ".join(words) + "\n"
