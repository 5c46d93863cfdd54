"""What tests of policies share."""

import pytest

from driftduel.policies import POLICIES


@pytest.fixture
def registered():
    """Let what a test registers be forgotten after it."""
    with POLICIES.temporarily():
        yield POLICIES.register
