"""A time is never a test: on a busy machine the suite must say what it says on a quiet one."""

import ast
from pathlib import Path

from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time", "time"}
CLOCKS |= {f"{name}_ns" for name in CLOCKS}
LEAST_SECONDS = 120


def clocks(source):
    """Name what a test could judge by time: clocks, deadlines, waits that are short."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id="time"), attr=name) if name in CLOCKS:
                yield f"time.{name}"
            case ast.ImportFrom(module="time", names=names):
                yield from (each.name for each in names if each.name in CLOCKS)
            case ast.keyword(arg="deadline"):
                yield "deadline"
            case ast.keyword(arg="timeout", value=ast.Constant(value=value)) if (
                value is not None and value < LEAST_SECONDS
            ):
                yield f"timeout={value}"


def test_clocks_are_seen():
    source = """
import time
from time import sleep, perf_counter
begun = time.monotonic()
run(timeout=60)
run(timeout=None)
run(timeout=600)
settings(deadline=500)
time.sleep(1)
"""
    assert sorted(clocks(source)) == ["deadline", "perf_counter", "time.monotonic", "timeout=60"]


def test_no_test_reads_a_clock():
    found = {
        str(path.relative_to(HERE)): found
        for path in sorted(HERE.rglob("*.py"))
        if path.name != "__main__.py"  # a program may say how fast it was
        if (found := sorted(clocks(path.read_text(encoding="utf-8"))))
    }
    measured = found.pop(
        "arena/test_servers.py"
    )  # prints the longest gap, and judges nothing by it
    assert set(measured) == {"time.monotonic"}
    # The start of a simulated clock, which must agree with the browser's about cookies.
    assert found.pop("arena/browser/test_whole.py") == ["time.time"]
    assert found.keys() == {"waiting.py", "conftest.py"}
    assert set(found["waiting.py"]) == {"time.monotonic"}  # tells a hang from a wait
    assert found["conftest.py"] == ["deadline"]  # turns it off


def test_hypothesis_looks_at_no_clock():
    assert settings().deadline is None
    assert HealthCheck.too_slow in settings().suppress_health_check
