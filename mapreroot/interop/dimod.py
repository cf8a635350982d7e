"""A dimod sampler, for D-Wave's users: exact answers, or good ones with a bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapreroot.errors import ModelError
from mapreroot.model import Model
from mapreroot.solve import Method, solve

try:
    import dimod
except ImportError as error:
    raise ImportError(
        "mapreroot.interop.dimod needs dimod: pip install 'mapreroot[dimod]'"
    ) from error

__all__ = ["RerootSampler"]


class RerootSampler(dimod.Sampler):  # type: ignore[misc] # dimod publishes no types
    """Solve binary quadratic models by `mapreroot.solve`; takes the place of any dimod sampler.

    Examples
    --------
    >>> import dimod
    >>> bqm = dimod.BinaryQuadraticModel({"a": 1, "b": 0}, {"ab": -2, "bc": 1}, 0.5, "SPIN")
    >>> sampleset = RerootSampler().sample(bqm)
    >>> {v: int(s) for v, s in sampleset.first.sample.items()}, float(sampleset.first.energy)
    ({'a': -1, 'b': -1, 'c': 1}, -3.5)
    >>> sampleset.info["status"], sampleset.info["lower_bound"]
    ('optimal', -3.5)
    """

    @property
    def parameters(self) -> dict[str, list[str]]:
        """What `sample` understands, and on which properties each depends: on none."""
        return {name: [] for name in ("time_limit", "seed", "num_reads", "method", "gap")}

    @property
    def properties(self) -> dict[str, Any]:
        """Nothing: any variables, any interactions."""
        return {}

    def sample(
        self,
        bqm: Any,
        time_limit: float | None = None,
        seed: int | None = None,
        num_reads: int = 1,
        method: Method = "auto",
        gap: float = 0.0,
        **parameters: Any,
    ) -> dimod.SampleSet:
        """Find a sample of lowest energy.

        Parameters
        ----------
        bqm : dimod.BinaryQuadraticModel
        time_limit : float, optional
            Seconds of wall time.
        seed : int, optional
            Of the heuristics; the same one (0 by default) gives the same answer.
        num_reads : int
            The one sample counts as so many occurrences: more reads of an exact solver would
            find the same.
        method, gap
            As in `mapreroot.solve`.
        **parameters
            Others draw dimod's warning and are ignored, as by any sampler.

        Returns
        -------
        dimod.SampleSet
            One sample, in the vartype of ``bqm``, its energy computed by ``bqm`` itself, offset
            included. ``info`` holds plain values: ``lower_bound`` (no sample has less energy),
            ``status`` ("optimal" or "feasible"), ``stopped`` (why early, or None), ``method``,
            ``root`` (a vertex of M+, or None) and ``seconds``. Where a composite hands down
            another model, such as a scaled one, they speak of that.

        Raises
        ------
        ModelError
            For biases that are not finite, or a num_reads below 1.
        """
        self.remove_unknown_kwargs(**parameters)
        if num_reads < 1:
            raise ModelError(f"num_reads is {num_reads}: expected 1 or more")
        result = solve(Model.from_bqm(bqm), method, time_limit=time_limit, gap=gap, seed=seed or 0)
        values = result.x if bqm.vartype is dimod.BINARY else 2 * result.x - 1
        samples = np.atleast_2d(values), list(result.labels)
        sampleset = dimod.SampleSet.from_samples_bqm(samples, bqm, num_occurrences=[num_reads])
        energy = float(sampleset.record.energy[0])
        sampleset.info.update(
            # The energy is rounded too, differently: keep it above its bound.
            lower_bound=min(-result.bound, energy),
            status=result.status,
            stopped=result.stopped,
            method=result.method,
            root=result.root,
            seconds=result.seconds,
        )
        return sampleset
