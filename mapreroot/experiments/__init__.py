"""The paper's experiments, and batches of them."""

from mapreroot.experiments.paper import PaperSettings, run_paper

__all__ = ["PaperSettings", "run_paper"]
