"""What tests of policies share."""

import pytest

from driftduel.policies import POLICIES


@pytest.fixture
def registered(monkeypatch):
    """Let what a test registers be forgotten after it."""
    monkeypatch.setattr(POLICIES, "_entries", dict(POLICIES._entries))
    return POLICIES.register
