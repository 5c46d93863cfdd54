"""What all tests share."""

import signal

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says more about the machine than about the code.
settings.register_profile(
    "driftduel", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("driftduel")

# Whoever starts tests in the background has them ignore Ctrl-C; some of them press it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_notice_of_compiling(monkeypatch):
    """Whether something is compiled depends on earlier runs; what a command prints must not."""
    monkeypatch.setattr("driftduel.cli.listen", lambda listener: None)


@pytest.fixture(autouse=True)
def _a_pipe_of_any_width(monkeypatch):
    """A width that somebody left in the environment, a shell or a library, changes no output."""
    monkeypatch.delenv("COLUMNS", raising=False)
