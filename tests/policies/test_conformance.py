"""Every registered policy passes every check."""

import pytest

from driftduel._compile import jit_enabled
from driftduel.policies import POLICIES
from driftduel.testing import CHECKS, check_policy

NEVER_LEARNS = {"uniform"}
# `make test` checks a policy of each kind, and `make test-long` every other one and every
# composition around one policy (DETECT around one more, which keeps no counts); `make test-slow`
# checks the rest of these.
OF_EACH_KIND = {"anaconda", "dts", "king", "sw-dts", "uniform"}
SPECS = [
    pytest.param(entry.name, marks=() if entry.name in OF_EACH_KIND else pytest.mark.long)
    for entry in POLICIES
    if not hasattr(entry.factory, "wrapper")
    or entry.name.endswith(("-dts", "doubling-rex3", "detect-btw"))
]
SPECS += [
    pytest.param("anew-wsw", marks=pytest.mark.long),
    pytest.param("anew-anaconda", marks=pytest.mark.slow),
]
CHECKED = {spec if isinstance(spec, str) else spec.values[0] for spec in SPECS}


@pytest.mark.skipif(not jit_enabled(), reason="the kernels' own tests run without the compiler")
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("check", CHECKS)
def test_conformance(spec, check):
    if check == "finds the winner of an easy world" and spec in NEVER_LEARNS:
        pytest.skip("it does not learn")
    CHECKS[check](spec)


@pytest.mark.slow
@pytest.mark.parametrize("spec", [entry.name for entry in POLICIES if entry.name not in CHECKED])
def test_every_other_composition(spec):
    check_policy(spec)


def test_a_failed_check_says_which_and_why():
    with pytest.raises(
        AssertionError, match="uniform: finds the winner of an easy world: it loses"
    ):
        check_policy("uniform")
