"""What all tests share."""

import pytest


@pytest.fixture(autouse=True)
def _no_notice_of_compiling(monkeypatch):
    """Whether something is compiled depends on earlier runs; what a command prints must not."""
    monkeypatch.setattr("driftduel.cli.listen", lambda listener: None)
