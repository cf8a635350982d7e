"""The paper's experiments, and batches of model files."""

from mapreroot.experiments.batch import BatchRow, model_files, run_batch
from mapreroot.experiments.draws import PaperSettings
from mapreroot.experiments.paper import run_paper
from mapreroot.experiments.roots import run_roots

__all__ = ["BatchRow", "PaperSettings", "model_files", "run_batch", "run_paper", "run_roots"]
