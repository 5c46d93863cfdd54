"""Policies: learners that ask for a duel and are told who won.

A policy sees arms and answers, never a world. This room imports the compiler.
"""

from driftduel._compile import hot, kernel
from driftduel._random import beta, normal, uniform
from driftduel.policies.anaconda import Anaconda
from driftduel.policies.base import (
    GROW,
    RESTARTED,
    Duel,
    Info,
    KernelPolicy,
    Kernels,
    Policy,
)
from driftduel.policies.registry import POLICIES, make_policy
from driftduel.policies.saving import load_policy, save_policy
from driftduel.policies.uniform_random import UniformRandom

__all__ = [
    "GROW",
    "POLICIES",
    "RESTARTED",
    "Anaconda",
    "Duel",
    "Info",
    "KernelPolicy",
    "Kernels",
    "Policy",
    "UniformRandom",
    "beta",
    "hot",
    "kernel",
    "load_policy",
    "make_policy",
    "normal",
    "save_policy",
    "uniform",
]
