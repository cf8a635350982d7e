"""The command line: arguments in, results on stdout, everything else on stderr."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; the exit codes are 0, 1, 2, 3 and 130.

    0: solved as asked. 1: a feasible answer with a gap, or a certificate refused. 2: bad usage or
    bad input. 3: a solver failed. 130: interrupted, the incumbent printed.
    """
    try:  # from the first import on, Ctrl-C ends in one line
        from mapreroot.cli.interrupts import ignored_at_exit, leaving_at_once

        with leaving_at_once():
            from mapreroot.cli.app import run

            code = run()
        ignored_at_exit()
    except KeyboardInterrupt:
        sys.stderr.write("mapreroot: interrupted\n")
        code = 130
    sys.exit(code)
