"""Policies around other policies: ways to make a stationary one face change.

A wrapper holds the record of the policy inside its own, and its kernels close over the other's:
one loop is compiled for the whole. ``prefix-name`` is the wrapper `prefix` around the policy
`name`; its keys are those of both.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from driftduel._compile import hot, kernel
from driftduel.errors import DriftduelError
from driftduel.policies.base import KernelPolicy, Kernels, Policy
from driftduel.policies.fields import Rule, rules_of
from driftduel.policies.info import Contest, Stage
from driftduel.policies.modes import SAME
from driftduel.policies.registry import POLICIES, keep_parameters, need_contract
from driftduel.specs import Entry, parameters_of

__all__ = [
    "Around",
    "Composition",
    "built_again",
    "in_panel_by",
    "no_notes_inside",
    "pass_on",
    "pick_inside",
    "presence_inside",
    "register_around",
    "since_alarm",
    "told_by",
]

_CONTEXT = ("arms", "rng", "base")


class Around(KernelPolicy):
    """Hold another policy and pass on what concerns it.

    A subclass sets `prefix`, makes its kernels out of `self.base.kernels`, and puts a state in
    place whose field `base` is the other's state.
    """

    prefix: str = ""
    needs_reset: bool = True
    """Whether the wrapped policy must have the kernel `reset`."""
    needs_wins: bool = False
    """Whether it must keep win counts in a field `wins`, and take answers to any duel."""
    needs_counts_only: bool = False
    """Whether its other fields must not outlive the counts; see `KernelPolicy.transient`."""
    needs_suspect: bool = False
    """Whether it must have the kernel `suspect`, which names its current best guess."""
    tells: tuple[str, ...] = ()
    """What the wrapper itself must be told."""
    in_panel = ""
    """What panel mode does to the guarantee; empty: the same as to that of the policy inside."""
    extra_notes: tuple[Rule, ...] = ()
    """Notes of its own, before those of the policy inside."""
    adds_draws: bool = False
    """Whether the wrapper draws random numbers of its own."""
    supplies: str = ""
    """A key of the policy inside that the wrapper itself provides."""
    supplied_by: str = ""
    """The key of the wrapper's own that has its first value."""

    def __init__(self, arms: int, rng: np.random.Generator, base: KernelPolicy) -> None:
        for lacking in (_lacking_kernel(type(self), base), _lacking_field(type(self), base)):
            if lacking is not None:
                raise _cannot_wrap(self.prefix, base.name, lacking)
        self.base = base
        self.notes = (*self.extra_notes, *base.notes)  # type: ignore[misc]
        self.in_order = base.in_order  # type: ignore[misc]
        self.ties = base.ties  # type: ignore[misc]
        self.name = f"{self.prefix}-{base.name}"  # type: ignore[misc]
        told = (*self.tells, *(key for key in base.told if key != self.supplies))
        self.told = tuple(dict.fromkeys(told))  # type: ignore[misc]
        self.kernels = self.wrap(base.kernels)  # type: ignore[misc]
        self.in_panel = _in_panel(type(self), base.in_panel)  # type: ignore[misc]
        self.easy_rounds = base.easy_rounds  # type: ignore[misc]
        if self.easy_regret == KernelPolicy.easy_regret:
            self.easy_regret = base.easy_regret  # type: ignore[misc]
        self.draws = base.draws or self.adds_draws  # type: ignore[misc]
        self.bounded_memory = base.bounded_memory  # type: ignore[misc]
        super().__init__(arms, rng)
        inside = {k: value for k, value in base.parameters.items() if k != self.supplies}
        self.parameters = {**inside, **self.parameters}

    def wider(self) -> KernelPolicy:
        """Return a fresh policy like this one, for one more arm, around the same policy inside."""
        self.base.state = self.state.base
        self.base.widen()
        own = {p.name: self.parameters[p.name] for p in parameters_of(type(self), _CONTEXT)}
        return type(self)(self.arms + 1, np.random.default_rng(0), self.base, **own)

    @staticmethod
    def wrap(inner: Kernels) -> Kernels:
        """Make the wrapper's kernels around those of the policy inside."""
        raise NotImplementedError

    def began(self) -> int | None:
        """Return the round that is round 1 to the policy inside; None if it is never restarted."""
        return None

    def stage(self) -> Stage:
        """Tell where the policy inside stands, in rounds as they are counted here."""
        self.base.state = self.state.base
        stage, began = self.base.stage(), self.began()
        if began is None:
            return stage
        stage = stage.later(began - 1)
        return stage if stage.episode_start is not None else stage._replace(episode_start=began)

    def contest(self) -> Contest:
        """Tell how firmly its leader leads inside."""
        self.base.state = self.state.base
        return self.base.contest().later((self.began() or 1) - 1)

    def grow(self) -> None:
        """Make room for the policy inside."""
        self.base.state = self.state.base
        self.base.grow()
        self.state = self.state._replace(base=self.base.state)


@hot
def _same_round(state: Any, t: int) -> int:
    return t


@hot
def since_alarm(state: Any, t: int) -> int:
    """Return what a round is to the policy inside that begins anew at each alarm."""
    return max(1, t - state.numbers[0].start + 1)


def pass_on(inner: Kernels, local: Any = _same_round) -> dict[str, Any]:
    """Pass on what a wrapper has nothing to add to: all but `ask`, `tell` and `reset`.

    Parameters
    ----------
    inner
        The kernels of the policy inside.
    local
        What a round of the wrapper is to the policy inside: a kernel ``(state, t)``.
    """
    suspect, change, present, hear = inner.suspect, inner.change, inner.present, inner.hear

    def suspect_inside(state):  # type: ignore[no-untyped-def]
        return suspect(state.base)

    def change_inside(state, rng, t, arm, here):  # type: ignore[no-untyped-def]
        change(state.base, rng, local(state, t), arm, here)

    def present_inside(state, arm):  # type: ignore[no-untyped-def]
        return present(state.base, arm)

    def hear_inside(state, winner, loser, weight):  # type: ignore[no-untyped-def]
        hear(state.base, winner, loser, weight)

    return {
        "suspect": suspect and kernel(suspect_inside),
        "any_duel": inner.any_duel,
        "unanswered": inner.unanswered,
        "change": change and kernel(change_inside),
        "present": present and hot(present_inside),
        "hear": hear and kernel(hear_inside),
    }


def presence_inside(inner: Kernels) -> Any:
    """Return a kernel ``(state, arm)`` that says who is there: everybody, if nobody can leave."""
    present = pass_on(inner)["present"]

    def always(state, arm):  # type: ignore[no-untyped-def]
        return 1

    return present or hot(always)


def pick_inside(inner: Kernels) -> Any:
    """Return a kernel ``(state, place, but)`` that finds an arm by its place among those present.

    The arm `but` is not counted.
    """
    here = presence_inside(inner)

    def pick(state, place, but):  # type: ignore[no-untyped-def]
        arm = -1
        while place >= 0:
            arm += 1
            if arm != but:
                place -= here(state, arm)
        return arm

    return kernel(pick)


def register_around(wrapper: type[Around], bases: Iterable[str] = ()) -> None:
    """Register a wrapper: ``prefix-NAME`` resolves for each registered policy that qualifies.

    Parameters
    ----------
    wrapper
        The class; its attribute `prefix` is the first part of the names.
    bases
        Policies whose compositions are listed; all others resolve without being listed.
    """
    need_contract(wrapper)
    keep_parameters(wrapper, _CONTEXT)
    own = tuple(parameters_of(wrapper, _CONTEXT))
    names = {parameter.name for parameter in own}

    @POLICIES.open_prefix(wrapper.prefix)
    def compose(inner: Entry[Policy]) -> Entry[Policy]:
        _need_wrappable(wrapper, inner)
        return Entry(
            name=f"{wrapper.prefix}-{inner.name}",
            factory=Composition(wrapper, inner.name),
            parameters=(
                *own,
                *(p for p in inner.parameters if p.name not in {*names, wrapper.supplies}),
            ),
            summary=f"{(wrapper.__doc__ or '').partition(chr(10))[0]} Around: {inner.name}.",
        )

    for base in bases:
        POLICIES.add(compose(POLICIES[base]))


def _need_wrappable(wrapper: type[Around], inner: Entry[Policy]) -> None:
    """Refuse an entry of which it is known before it is built that it lacks a property."""
    factory: Any = getattr(inner.factory, "wrapper", inner.factory)
    lacking = None
    if not (isinstance(factory, type) and issubclass(factory, KernelPolicy)):
        lacking = "it is not made of kernels; derive it from KernelPolicy"
    elif wrapper.supplies and wrapper.supplies not in {p.name for p in inner.parameters}:
        lacking = f"it has no key `{wrapper.supplies}`"
    elif hasattr(factory, "kernels"):  # else they are made when the policy is
        lacking = _lacking_kernel(wrapper, factory)
    if lacking is not None:
        raise _cannot_wrap(wrapper.prefix, inner.name, lacking)


def _lacking_kernel(wrapper: type[Around], base: Any) -> str | None:
    """Return which kernel of a policy, or of a class of policies, is missing; None if none is."""
    kernels: Kernels = base.kernels
    if wrapper.needs_reset and kernels.reset is None:
        return "it has no kernel `reset`, which makes it forget everything"
    if wrapper.needs_suspect and kernels.suspect is None:
        return "it has no kernel `suspect`, which names its current best guess"
    if wrapper.needs_wins and not kernels.any_duel:
        return "its kernels do not set `any_duel=True`: `tell` takes only duels that `ask` chose"
    return None


def _lacking_field(wrapper: type[Around], base: KernelPolicy) -> str | None:
    """Return which field of a policy's record is missing, or outlives the win counts."""
    if wrapper.needs_wins and "wins" not in base.state._fields:
        return "its state has no field `wins` for the win counts"
    if not wrapper.needs_counts_only:
        return None
    record: Any = type(base.state)
    rules = {**rules_of(record), **base.rules}
    lasting = [
        name
        for name, rule in rules.items()
        if name not in ("wins", *base.transient) and not (rule and rule.has_no_memory)
    ]
    if not lasting:
        return None
    return (
        f"its state keeps `{lasting[0]}` outside of `wins`, so that answers which no longer count "
        f"would still act; if they would not, name the field in `transient`"
    )


def _cannot_wrap(prefix: str, name: str, lacking: str) -> DriftduelError:
    return DriftduelError(f"{prefix!r} cannot be put around policy {name!r}: {lacking}.")


def told_by(entry: Entry[Policy]) -> tuple[str, ...]:
    """Return what a registered policy must be told, the one inside a wrapper included."""
    factory: Any = entry.factory
    if isinstance(factory, Composition):
        inside = [t for t in told_by(POLICIES[factory.base]) if t != factory.wrapper.supplies]
        return tuple(dict.fromkeys((*factory.wrapper.tells, *inside)))
    told: tuple[str, ...] = factory.told
    return told


def in_panel_by(entry: Entry[Policy]) -> str:
    """Return what panel mode does to a registered policy's guarantee."""
    factory: Any = entry.factory
    if isinstance(factory, Composition):
        return _in_panel(factory.wrapper, in_panel_by(POLICIES[factory.base]))
    said: str = factory.in_panel
    return said


def _in_panel(wrapper: type[Around], inside: str) -> str:
    return inside if inside == SAME else wrapper.in_panel or inside


class Composition:
    """Build a wrapper around a policy from the keys of both."""

    def __init__(self, wrapper: Any, base: str) -> None:
        self.wrapper, self.base = wrapper, base

    def __call__(self, arms: int, rng: np.random.Generator, **values: Any) -> Any:
        """Build both."""
        inner = POLICIES[self.base]
        mine = {parameter.name for parameter in parameters_of(self.wrapper, _CONTEXT)}
        # A key that both have, such as the horizon, goes to both.
        for_base = {p.name: values[p.name] for p in inner.parameters if p.name in values}
        values = {name: value for name, value in values.items() if name in mine}

        if self.wrapper.supplies:
            for_base[self.wrapper.supplies] = values[self.wrapper.supplied_by]
        return self.wrapper(arms, rng, inner.factory(arms=arms, rng=rng, **for_base), **values)


@hot
def no_notes_inside(notes: Any) -> None:
    """Write the notes of a duel that the policy inside did not ask for: none, not those of before.

    What nobody writes is what another duel left there, which a loaded policy would not know.
    """
    for i in range(1, len(notes)):
        notes[i] = 0.0


def built_again(policy: KernelPolicy, **changed: Any) -> Any:
    """Build a fresh policy like another, with the same generator and some keys changed."""
    factory: Any = POLICIES[policy.name].factory if policy.name in POLICIES else type(policy)
    return factory(arms=policy.arms, rng=policy.rng, **{**policy.parameters, **changed})
