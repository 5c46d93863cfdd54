"""Every registered policy passes every check."""

import pytest

from driftduel._internal.compiler import jit_enabled
from driftduel.games.prior_knowledge import knowledge
from driftduel.policies import POLICIES, KernelPolicy, make_policy
from driftduel.testing import CHECKS, check_policy
from driftduel.worlds import make_world

NEVER_LEARNS = {"uniform"}
# `make test` checks a policy of each kind, and `make test-long` every other one and every
# composition around one policy (DETECT around one more, which keeps no counts); `make test-slow`
# checks the rest of these.
OF_EACH_KIND = {"anaconda", "dts", "king", "sw-dts", "uniform"}
SPECS = [
    entry.name
    for entry in POLICIES
    if not hasattr(entry.factory, "wrapper")
    or entry.name.endswith(("-dts", "doubling-rex3", "detect-btw"))
]
SPECS += ["anew-wsw", "anew-anaconda"]
# Each of these two compiles one more loop for every policy, a second each, and compares what is not
# the policy's own: the loop. Its own part is compared elsewhere, with ties where a log is folded
# and where arms are absent, stand-ins in test_modes.py. So `make test-slow` has these two, but for
# policies of each kind, and for ties of those who are told of them.
LIKE_LIN_UCB = {"lin-ts", "colstim", "maxinp"}  # only the choice of the pair is another
TIES, PANELS = "ties equal the compiled loop", "asking equals the compiled loop in panels"
WORLD = make_world("two-arm", seed=1)


def is_told_of_ties(spec):
    policy = make_policy(spec, 2, 1, **knowledge(spec, WORLD))
    return not isinstance(policy, KernelPolicy) or policy.kernels.unanswered


def how_long(check, spec):
    """Say when a policy is checked."""
    if spec in OF_EACH_KIND:
        return ()
    if spec in LIKE_LIN_UCB:
        return pytest.mark.slow
    rare = check == PANELS or (check == TIES and not is_told_of_ties(spec))
    return pytest.mark.slow if rare or spec == "anew-anaconda" else pytest.mark.long


@pytest.mark.skipif(not jit_enabled(), reason="the kernels' own tests run without the compiler")
@pytest.mark.parametrize(
    ("check", "spec"),
    [pytest.param(check, spec, marks=how_long(check, spec)) for check in CHECKS for spec in SPECS],
)
def test_conformance(check, spec):
    if check == "finds the winner of an easy world" and spec in NEVER_LEARNS:
        pytest.skip("it does not learn")
    CHECKS[check](spec)


@pytest.mark.slow
@pytest.mark.parametrize("spec", [entry.name for entry in POLICIES if entry.name not in SPECS])
def test_every_other_composition(spec):
    check_policy(spec)


def test_failed_check_names_check_and_reason():
    with pytest.raises(
        AssertionError, match="uniform: finds the winner of an easy world: it loses"
    ):
        check_policy("uniform")
