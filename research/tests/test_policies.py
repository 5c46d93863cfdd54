"""Policies of record: the plug-in route, the contract of policies, and registration."""

import os
import subprocess
import sys

import pytest

from driftduel.policies import POLICIES
from driftduel.testing import check_policy
from research.places import ROOT
from research.policies import registered

NAMES = ("king-0", "public-anaconda")


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_policies_of_record_keep_the_contract(name):
    check_policy(name)


def test_registration_ends_with_its_block():
    before = {entry.name for entry in POLICIES}
    with POLICIES.temporarily():
        for name in NAMES:
            POLICIES.remove(name)
        for _ in range(2):  # the second time the modules are imported already
            with registered():
                assert all(name in POLICIES for name in NAMES)
            assert not any(name in POLICIES for name in NAMES)
    assert {entry.name for entry in POLICIES} == before


@pytest.mark.parametrize("module", ["king_0", "public_anaconda"])
def test_the_command_line_imports_them(module):
    words = ["--import", f"research.policies.{module}", "--policy", module.replace("_", "-")]
    done = subprocess.run(
        [sys.executable, "-m", "driftduel", "play", *words, "--world", "two-arm:rounds=50"],
        cwd=ROOT, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert words[-1] in done.stdout
