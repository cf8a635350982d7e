"""Settings every test shares."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "Agg")
# A shell that starts the suite in the background has it ignore Ctrl-C, which tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "mapreroot",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("mapreroot")

DATA = Path(__file__).parent / "data"
_shared = Path(__file__).resolve().parents[2] / "shared"
SHARED = _shared if _shared.is_dir() else None


@pytest.fixture
def shared() -> Path:
    """The folder of public instances beside the checkout, where there is one."""
    if SHARED is None:
        pytest.skip("no shared instances beside this checkout")
    return SHARED
