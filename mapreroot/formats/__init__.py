"""Files in, files out: every format behind `read_model` and `write_model`.

Readers are strict. What a file says is read, or refused in one line that names the file, the
line and what was expected there; nothing is skipped, guessed or repaired. Writers refuse what a
format cannot hold before they touch the disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mapreroot.errors import FormatError, InfeasibleError, ModelError
from mapreroot.formats import (
    biqmac,
    cfn,
    coo,
    libdai,
    mqlib,
    native,
    qbsolv,
    qpbo,
    rudy,
    uai,
)
from mapreroot.formats.evidence import read_evidence, resolve
from mapreroot.formats.factors import Factors
from mapreroot.formats.results import write_mar, write_mpe, write_pr
from mapreroot.formats.text import Text, read_text, write_text
from mapreroot.model import Model, UprootedModel

__all__ = [
    "FORMATS",
    "Format",
    "ModelFile",
    "find_format",
    "read_evidence",
    "read_file",
    "read_model",
    "write_mar",
    "write_model",
    "write_mpe",
    "write_pr",
]

Sense = Literal["max", "min"]


@dataclass(frozen=True)
class Format:
    """One way to write a model down.

    Attributes
    ----------
    name : str
    extensions : tuple of str
        File names that mean this format; none for one that has to be named.
    sense : {"max", "min"} or callable
        Of the file's own objective; a callable where the file says it.
    measure : str
        What the file's own objective is called.
    doubling : str
        How often an entry counts, where formats disagree.
    """

    name: str
    extensions: tuple[str, ...]
    sense: Sense | Callable[[Text], Sense]
    measure: str
    doubling: str
    read: Callable[[Text], Model | Factors]
    write: Callable[[Model], str]


ONCE, TWICE = "every entry counts once", "an off-diagonal entry counts twice (symmetric Q)"

FORMATS = (
    Format("uai", (".uai",), "max", "ln of the product", "", uai.read, uai.write),
    Format("fg", (".fg",), "max", "ln of the product", "", libdai.read, libdai.write),
    Format("rudy", (".mc", ".txt", ".dat"), "max", "weight of the cut", "", rudy.read, rudy.write),
    Format("bq", (".bq", ".sparse"), "min", "x'Qx", TWICE, biqmac.read, biqmac.write),
    Format("mqlib-qubo", (), "max", "x'Qx", TWICE, mqlib.read, mqlib.write),
    Format("qpbo", (".qpbo",), qpbo.sense, "x'Qx", TWICE, qpbo.read, qpbo.write),
    Format("qbsolv", (".qubo",), "min", "energy", ONCE, qbsolv.read, qbsolv.write),
    Format("coo", (".coo",), "min", "energy", ONCE, coo.read, coo.write),
    Format("cfn", (".cfn",), cfn.sense, "cost", "", cfn.read, cfn.write),
    Format("json", (".json",), "max", "score", "", native.read, native.write),
)


@dataclass(frozen=True)
class ModelFile:
    """A model together with what its file says in its own terms.

    Attributes
    ----------
    path : str
    format : str
        The format's name.
    model : Model
        Without the observed variables.
    labels : tuple
        All variables of the file, in its order, observed or not.
    fixed : dict
        The observed variables and their values.
    sense : {"max", "min"}
        Of the file's own objective.
    measure : str
        What the file's own objective is called.
    doubling : str
        How often an entry counts, where formats disagree; else empty.
    """

    path: str
    format: str
    model: Model
    labels: tuple[Hashable, ...]
    fixed: Mapping[Hashable, int]
    sense: Sense
    measure: str
    doubling: str

    @property
    def constant(self) -> float:
        """The constant of the file's own objective, what evidence adds to it included."""
        return self.objective(self.model.constant)

    def objective(self, score: float) -> float:
        """Turn a score, or a bound on it, into the file's own terms."""
        return (score if self.sense == "max" else -score) + 0.0

    def assignment(self, x: npt.ArrayLike) -> dict[Hashable, int]:
        """Put the observed variables back: label -> value, in the file's order."""
        values = dict(zip(self.model.labels, np.asarray(x).tolist(), strict=True))
        values.update(self.fixed)
        return {label: int(values[label]) for label in self.labels}


def read_file(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    evidence: str | os.PathLike[str] | Mapping[Any, int] | None = None,
) -> ModelFile:
    r"""Read a model and what its file says about it.

    It takes and raises what `read_model` does.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "pair.bq")
    >>> _ = path.write_text("2 2\n1 1 -1\n1 2 3\n")
    >>> file = read_file(path, evidence={2: 1})
    >>> file.sense, file.objective(file.model.score([1])), file.assignment([1])
    ('min', 5.0, {1: 1, 2: 1})
    """
    try:
        kind = find_format(path, format)
    except FormatError:
        if os.fspath(path) != "-":
            read_text(path)  # a file that is not there is the first thing to say
        raise
    text = read_text(path)
    try:
        # What overflows on the way is infinite in the end, and Model says which number it is.
        with np.errstate(over="ignore", invalid="ignore"):
            content = kind.read(text)
            fixed = resolve(evidence, content.labels)
            plain = isinstance(content, Model) and not fixed
            model = content if plain else content.condition(fixed)
    except FormatError:
        raise
    except MemoryError as error:
        raise MemoryError(f"{text.name}: out of memory: {error}".rstrip(": ")) from error
    except ModelError as error:
        raise text.error(str(error)) from error
    except InfeasibleError as error:
        raise InfeasibleError(f"{text.name}: {error}") from error
    assert isinstance(model, Model)
    return ModelFile(
        text.name,
        kind.name,
        model,
        content.labels,
        fixed,
        kind.sense if isinstance(kind.sense, str) else kind.sense(text),
        kind.measure,
        kind.doubling,
    )


def read_model(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    evidence: str | os.PathLike[str] | Mapping[Any, int] | None = None,
) -> Model:
    r"""Read a model from a file.

    Parameters
    ----------
    path : path-like
        ``-`` is standard input, and needs a format. A gzip file is recognised by its content.
    format : str, optional
        The name of a format, or an extension; by default the file's own extension says it.
    evidence : path-like or mapping, optional
        Observed variables: a UAI evidence file in either dialect, or label -> value. They are
        removed from the model before its factors are judged, and their part of the score stays
        in the constant.

    Returns
    -------
    Model
        Scores are to be maximised: the weight of the cut, the logarithm of the product, or minus
        the energy. Labels are the file's own indices, which are 1-based where the format is.

    Raises
    ------
    FormatError
        For anything the format does not allow, naming the file and the line.
    InfeasibleError
        If hard constraints contradict each other or the evidence.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "triangle.mc")
    >>> _ = path.write_text("3 3\n1 2 1\n2 3 1\n1 3 1\n")
    >>> model = read_model(path)
    >>> model.labels, model.score([0, 1, 0])
    ((1, 2, 3), 2.0)
    """
    return read_file(path, format, evidence).model


def write_model(
    model: Model | UprootedModel,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
) -> None:
    """Write a model to a file, all of it or nothing.

    Parameters
    ----------
    model : Model or UprootedModel
        M+ is written as what it is: a model without fields, on the vertices 0..n.
    path : path-like
        ``-`` is standard output, and needs a format. A name that ends in ``.gz`` is compressed.
    format : str, optional
        As in `read_model`.

    Raises
    ------
    ModelError
        If the format has no room for the model's constant, fields, labels or hard constraints;
        the message names formats that have. Nothing is written then.

    Notes
    -----
    What survives: ``json`` holds everything to the last bit. ``uai`` and ``fg`` hold logarithms
    to about 1e-13, hard constraints and the constant. ``coo`` and ``qbsolv`` hold the constant
    in a comment that other programs skip. ``cfn`` holds constant, hard constraints and every
    digit, and labels that are strings without blanks or signs. ``bq``, ``qpbo``, ``mqlib-qubo``
    and ``rudy`` hold no constant, and ``rudy`` no fields.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "pair.json")
    >>> model = Model([0.1, 0.2], [(0, 1)], [1 / 3], constant=-1.5, labels=["a", ("b", 2)])
    >>> write_model(model, path)
    >>> read_model(path) == model
    True
    """
    if isinstance(model, UprootedModel):
        N = model.n_vertices
        model = Model(np.zeros(N), model.edges, model.weights, model.constant)
    write_text(path, find_format(path, format).write(model))


def find_format(path: str | os.PathLike[str], name: str | None = None) -> Format:
    """Find the format of a file by a name, or an extension, or else by the file's own extension.

    Raises
    ------
    FormatError
        If none fits; the message lists all.

    Examples
    --------
    >>> find_format("spins.mc.gz").name
    'rudy'
    """
    for kind in FORMATS:
        if name == kind.name or (name and "." + name.removeprefix(".") in kind.extensions):
            return kind
    listed = ", ".join(
        kind.name + (f" ({' '.join(kind.extensions)})" if kind.extensions else "")
        for kind in FORMATS
    )
    if name is not None:
        raise FormatError(f"no format is called {name!r}: expected one of {listed}")
    file = os.fspath(path)
    extension = os.path.splitext(file.lower().removesuffix(".gz"))[1]
    for kind in FORMATS:
        if extension in kind.extensions:
            return kind
    raise FormatError(f"no known extension: name the format, one of {listed}", file)
