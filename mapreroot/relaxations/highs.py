"""A HiGHS that keeps stdout clean."""

from __future__ import annotations

import highspy

__all__ = ["new_highs"]


class _SilentHighs(highspy.Highs):  # type: ignore[misc] # highspy is untyped here
    """A solver whose console is closed before its constructor can log."""

    def enableCallbacks(self) -> None:
        # The constructor of highspy ends here, and HiGHS 1.16 answers with its banner:
        # once per process, and before the caller holds an object to silence. With the
        # console closed the banner counts as shown, so that no later Highs() of anybody
        # (cvxpy makes its own) prints it.
        self.setOptionValue("log_to_console", False)
        super().enableCallbacks()


def new_highs() -> highspy.Highs:
    """Make a HiGHS solver that prints nothing, now or later.

    After the first call the banner of HiGHS is used up for the whole process: code that
    lets cvxpy choose HiGHS calls this once beforehand.

    Returns
    -------
    highspy.Highs
        A fresh, empty solver with ``output_flag`` off.

    Notes
    -----
    Nothing is redirected, so other threads may print meanwhile.

    Examples
    --------
    >>> highs = new_highs()
    >>> _ = highs.addVar(0.0, 1.0)
    >>> _ = highs.run()
    >>> highs.getModelStatus().name
    'kOptimal'
    """
    highs = _SilentHighs()
    highs.setOptionValue("output_flag", False)
    return highs
