"""Every registered policy passes every check."""

import pytest

from driftduel._compile import jit_enabled
from driftduel.policies import POLICIES
from driftduel.testing import CHECKS, check_policy

NEVER_LEARNS = {"uniform"}
# In CI every composition is checked around one policy, and DETECT around one that keeps no counts;
# `make test-slow` checks the rest.
SPECS = [
    entry.name
    for entry in POLICIES
    if not hasattr(entry.factory, "wrapper")
    or entry.name.endswith(("-dts", "doubling-rex3", "detect-btw"))
]


@pytest.mark.skipif(not jit_enabled(), reason="the kernels' own tests run without the compiler")
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("check", CHECKS)
def test_conformance(spec, check):
    if check == "finds the winner of an easy world" and spec in NEVER_LEARNS:
        pytest.skip("it does not learn")
    CHECKS[check](spec)


@pytest.mark.slow
@pytest.mark.parametrize("spec", [entry.name for entry in POLICIES if entry.name not in SPECS])
def test_every_other_composition(spec):
    check_policy(spec)


def test_a_failed_check_says_which_and_why():
    with pytest.raises(
        AssertionError, match="uniform: finds the winner of an easy world: it loses"
    ):
        check_policy("uniform")
