"""Say what each file of tests costs, dearest first: `make test-times`.

In CPU time, which other programs change less than they change a clock. What a process that a test
started has cost is known when it ends.
"""

import collections
import os

import pytest

_begun = [0.0]
_costs: collections.Counter[str] = collections.Counter()


def _cpu():
    return sum(os.times()[:4])  # ours and our children's


def pytest_runtest_logstart():
    _begun[0] = _cpu()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    report = yield
    report.cpu = _cpu() - _begun[0]  # pytest-xdist hands it over like all else
    _begun[0] += report.cpu
    return report


def pytest_runtest_logreport(report):
    _costs[report.nodeid.partition("::")[0]] += getattr(report, "cpu", 0.0)  # a worker may be lost


def pytest_terminal_summary(terminalreporter):
    terminalreporter.section(f"{_costs.total():.0f} s of CPU time")
    for file, cost in _costs.most_common(40):
        terminalreporter.write_line(f"{cost:8.1f}  {file}")
