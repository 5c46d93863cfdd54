import pytest


@pytest.fixture(autouse=True, scope="package")
def _own_worlds():
    """Register the study's worlds for these tests, and let no other test see them."""
    from driftduel.worlds import WORLDS

    before = dict(WORLDS._entries)
    import driftduel.study.worlds  # noqa: F401

    yield
    for name in set(WORLDS._entries) - set(before):
        del WORLDS._entries[name]
    import sys

    sys.modules.pop("driftduel.study.worlds")
