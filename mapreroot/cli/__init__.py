"""The command line: arguments in, results on stdout, everything else on stderr."""

from mapreroot.cli.app import main

__all__ = ["main"]
