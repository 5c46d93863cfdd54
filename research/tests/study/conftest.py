import pytest


@pytest.fixture(autouse=True, scope="package")
def _own_worlds():
    """Register the study's worlds for these tests, and let no other test see them."""
    from driftduel.worlds import WORLDS

    with WORLDS.temporarily():
        import research.study.worlds  # noqa: F401

        yield
    import sys

    sys.modules.pop("research.study.worlds")
