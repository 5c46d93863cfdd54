"""The public interface for authors of policies and worlds, in one module.

A policy in plain Python needs `Policy` and `POLICIES`; a compiled one `KernelPolicy`, `Kernels`,
`kernel`, `inline_kernel`, `fields` and the functions for random numbers; a wrapper around other
policies `Wrapper`, `register_wrapper` and `pass_on`; a world `World`, `Chunk` or `Piecewise`, and
`WORLDS`. `driftduel.testing` provides checks for all of them.
"""

from driftduel import policies
from driftduel._internal.compiler import hot as inline_kernel, kernel
from driftduel._internal.kernel_random import beta, normal, uniform
from driftduel.errors import DriftduelError
from driftduel.policies import (
    GROW,
    POLICIES,
    RESTARTED,
    Challenger,
    Contest,
    Duel,
    KernelPolicy,
    Kernels,
    Policy,
    Stage,
    Wrapper,
    no_notes_inside,
    pass_on,
    register_wrapper,
)
from driftduel.preferences import Preferences
from driftduel.specs import Choice, Range
from driftduel.worlds import WORLDS, Chunk, Piecewise, World

fields = policies.fields

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
