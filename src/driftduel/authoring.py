"""All that an author of a policy or a world imports, in one place.

A policy in plain Python needs `Policy` and `POLICIES`; a compiled one `KernelPolicy`, `Kernels`,
`kernel`, `inline_kernel`, `fields` and the random numbers; a wrapper around other policies
`Wrapper`, `register_wrapper` and `pass_on`; a world `World`, `Chunk` or `Piecewise`, and `WORLDS`.
`driftduel.testing` has the checks.
"""

from driftduel._compile import hot as inline_kernel
from driftduel._compile import kernel
from driftduel._random import beta, normal, uniform
from driftduel.errors import DriftduelError
from driftduel.policies import POLICIES, fields
from driftduel.policies.around import Around as Wrapper
from driftduel.policies.around import no_notes_inside, pass_on
from driftduel.policies.around import register_around as register_wrapper
from driftduel.policies.base import GROW, RESTARTED, Duel, KernelPolicy, Kernels, Policy
from driftduel.policies.info import Challenger, Contest, Stage
from driftduel.preferences import Preferences
from driftduel.specs import Choice, Range
from driftduel.worlds import WORLDS, Chunk, Piecewise, World

__all__ = [
    "GROW",
    "POLICIES",
    "RESTARTED",
    "WORLDS",
    "Challenger",
    "Choice",
    "Chunk",
    "Contest",
    "DriftduelError",
    "Duel",
    "KernelPolicy",
    "Kernels",
    "Piecewise",
    "Policy",
    "Preferences",
    "Range",
    "Stage",
    "World",
    "Wrapper",
    "beta",
    "fields",
    "inline_kernel",
    "kernel",
    "no_notes_inside",
    "normal",
    "pass_on",
    "register_wrapper",
    "uniform",
]
