"""Tables of results as files: CSV or Parquet, by the name of the file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mapreroot.errors import ModelError
from mapreroot.formats.text import write_bytes, write_text

__all__ = ["check_table", "write_table"]


def check_table(path: str | Path) -> None:
    """Make sure that a table of this name can be written, before hours go into it.

    Raises
    ------
    ModelError
        If the name is no table's.
    ImportError
        For Parquet without pyarrow.
    """
    name = str(path)
    if name.endswith(".parquet"):
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as error:
            raise ImportError(
                f"{name}: Parquet needs pyarrow: pip install 'mapreroot[experiments]', "
                "or name a .csv file"
            ) from error
    elif not name.endswith((".csv", ".csv.gz")):
        raise ModelError(f"{name}: expected a name that ends in .parquet, .csv or .csv.gz")


def write_table(
    path: str | Path, columns: Mapping[str, type], rows: Iterable[Sequence[Any]]
) -> None:
    r"""Write a table, whole or not at all.

    Parameters
    ----------
    path : path
        ``.parquet``, ``.csv`` or ``.csv.gz``.
    columns : mapping from names to str, int or float
    rows : iterable
        Values in the order of the columns; None is a missing value, and empty in CSV.

    Raises
    ------
    ModelError, ImportError
        As `check_table` does.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "table.csv")
    >>> write_table(path, {"name": str, "score": float}, [("a", 1.5), ("b", None)])
    >>> path.read_text()
    'name,score\na,1.5\nb,\n'
    """
    check_table(path)
    if str(path).endswith(".parquet"):
        write_bytes(path, _parquet(columns, rows))
        return
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    write_text(path, text.getvalue())


def _parquet(columns: Mapping[str, type], rows: Iterable[Sequence[Any]]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    types = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64()}
    schema = pyarrow.schema([(name, types[kind]) for name, kind in columns.items()])
    whole = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in columns]
    data = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(whole, schema=schema), data)
    return data.getvalue()
