"""Fixtures of the research tests: those of the other tests, and the policies of record."""

import pytest

from research.policies import registered
from tests.conftest import _a_pipe_of_any_width, _no_notice_of_compiling  # noqa: F401


@pytest.fixture(autouse=True, scope="package")
def _policies_of_record():
    """Register the policies of record for these tests only."""
    with registered():
        yield
