"""The program as a user runs it, in this process, which is faster."""

import contextlib
import io
import sys
from types import SimpleNamespace
from unittest import mock

import pytest

from mapreroot.cli import main


def run(*arguments, stdin=b""):
    """Give the exit code, and all that reaches stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    typed = SimpleNamespace(buffer=io.BytesIO(stdin))
    with (
        mock.patch.object(sys, "argv", ["mapreroot", *map(str, arguments)]),
        mock.patch.object(sys, "stdin", typed),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as end,
    ):
        main()
    return SimpleNamespace(returncode=end.value.code, stdout=out.getvalue(), stderr=err.getvalue())
