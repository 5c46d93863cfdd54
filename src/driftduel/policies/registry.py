"""Policies by name."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from driftduel.policies.base import Policy
from driftduel.specs import Entry, Factory, Registry, Spec, parameters_of

__all__ = ["POLICIES", "keep_parameters", "make_policy"]


Around = Callable[[Entry[Policy]], Entry[Policy]]


class _Policies(Registry[Policy]):
    """Policies by name; each keeps what it was built with, so that it can be built again."""

    def __init__(self, kind: str, context: tuple[str, ...]) -> None:
        super().__init__(kind, context)
        self._prefixes: dict[str, Around] = {}

    def register(self, name: str) -> Callable[[Factory], Factory]:
        """Register the decorated class of policies under `name`."""
        register = super().register(name)

        def decorate(policy: Factory) -> Factory:
            register(policy)
            policy.name = name  # type: ignore[attr-defined]
            keep_parameters(policy, self.context)
            return policy

        return decorate

    def open_prefix(self, prefix: str) -> Callable[[Around], Around]:
        """Let ``prefix-NAME`` be built by the decorated function from the entry of any NAME.

        Such names are not listed: there is one for each that is.
        """

        def decorate(around: Around) -> Around:
            self._prefixes[prefix] = around
            return around

        return decorate

    def _inside(self, name: object) -> tuple[Around, str] | None:
        """Return who builds a name that is not registered, and what it is around."""
        prefix, dash, inside = str(name).partition("-")
        around = self._prefixes.get(prefix) if dash and name not in self._entries else None
        return None if around is None else (around, inside)

    def __contains__(self, name: object) -> bool:
        found = self._inside(name)
        return (name if found is None else found[1]) in self._entries

    def __getitem__(self, name: str) -> Entry[Policy]:
        found = self._inside(name)
        return (
            super().__getitem__(name) if found is None else found[0](super().__getitem__(found[1]))
        )


def keep_parameters(policy: Any, context: tuple[str, ...]) -> None:
    """Let a class check what its policies are built with, and keep it in their `parameters`.

    It is done here and not by each author, who would forget it: a policy that does not know its
    parameters is saved without them and loaded with the defaults.
    """
    keys = tuple(parameters_of(policy, context))
    init = policy.__init__
    signature = inspect.signature(init)

    @wraps(init)
    def build(self: Policy, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        owner = self.name or type(self).__name__
        for key in keys:
            bound.arguments[key.name] = key.read(bound.arguments[key.name], owner)
        if "parameters" not in vars(self):  # else a class made out of this one was faster
            self.parameters = {key.name: bound.arguments[key.name] for key in keys}
        init(*bound.args, **bound.kwargs)

    policy.__init__ = build


POLICIES = _Policies("policy", context=("arms", "rng"))


def make_policy(
    spec: str | Spec,
    arms: int,
    seed: int | np.random.SeedSequence | np.random.Generator = 0,
    horizon: int | None = None,
    *,
    order: str | None = None,
    ties: str | None = None,
    mode: str | None = None,
    **known: Any,
) -> Policy:
    """Build the policy that a spec describes.

    Parameters
    ----------
    spec
        ``name:key=value,key=value``; `POLICIES` lists the names and their keys.
    arms
        The number of arms K.
    seed
        What its randomness comes from.
    horizon
        The number of rounds, for policies that want to know it and whose spec does not say.
    order, ties
        How answers are to be learned, where the policy has a choice: see `Policy.configure`.
    mode
        ``serve``: an arm may be shown alone (`Duel.alone`). ``panel``: two different arms, always.
    known
        Whatever else a policy may be told (``switches``, ``variation``, ``at``), likewise.

    Examples
    --------
    >>> make_policy("anaconda:constant=0.5", arms=5, horizon=1000)
    Anaconda(arms=5, rounds=0)
    """
    rng = np.random.default_rng(seed)
    policy = POLICIES.build(spec, arms=arms, rng=rng, horizon=horizon, **known)
    policy.configure(order=order, ties=ties, mode=mode)
    return policy
