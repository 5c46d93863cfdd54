"""Wrappers: policies around another policy, such as a sliding window or restarts.

The record of a wrapper contains the record of the wrapped policy as its field `base`, and the
wrapper's kernels call the kernels of the wrapped policy; one loop is compiled for the composition.
The spec ``prefix-name`` is the wrapper `prefix` around the policy `name`, with the keys of both.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from driftduel._internal.compiler import hot, kernel
from driftduel.errors import DriftduelError
from driftduel.policies.base import KernelPolicy, Kernels, Policy, need_plain_duels
from driftduel.policies.fields import Rule, rules_of
from driftduel.policies.info import Contest, Stage
from driftduel.policies.modes import SAME
from driftduel.policies.registry import POLICIES, keep_parameters, need_contract
from driftduel.specs import Entry, parameters_of

__all__ = [
    "Composition",
    "Wrapper",
    "built_again",
    "in_panel_by",
    "no_notes_inside",
    "pass_on",
    "pick_inside",
    "presence_inside",
    "prior_knowledge_of",
    "register_wrapper",
    "since_alarm",
]

_CONTEXT = ("arms", "rng", "base")
_OWN = {"slate"}  # keys that a wrapped policy does not get: wrappers take duels from it


class Wrapper(KernelPolicy):
    """The base class of wrappers: delegates to the wrapped policy `base`.

    A subclass sets the class attribute `prefix`, implements `wrap`, and assigns the attribute
    `state`, a record with the wrapped policy's state as field `base`.

    Raises
    ------
    DriftduelError
        If the wrapped policy lacks a kernel or field that the class attributes below require.
    """

    prefix: str = ""
    needs_reset: bool = True
    """Whether the wrapped policy must have the kernel `reset`."""
    needs_wins: bool = False
    """Whether it must store win counts in a field `wins` and accept answers to any duel."""
    needs_counts_only: bool = False
    """Whether no field besides the counts may hold learned values (`KernelPolicy.transient`)."""
    needs_best_guess: bool = False
    """Whether the wrapped policy must have the kernel `best_guess`."""
    adds_prior_knowledge: tuple[str, ...] = ()
    """Prior knowledge that the wrapper itself needs: names of its parameters."""
    in_panel = ""
    """The effect of panel mode on the guarantee; empty (default): that of the wrapped policy."""
    extra_notes: tuple[Rule, ...] = ()
    """Rules of the wrapper's notes, which precede those of the wrapped policy."""
    last_notes: tuple[Rule, ...] = ()
    """Rules of the wrapper's notes that follow those of the wrapped policy."""
    adds_draws: bool = False
    """Whether the wrapper itself draws random numbers."""
    supplies: str = ""
    """The key of the wrapped policy that the wrapper sets; empty by default."""
    supplied_by: str = ""
    """The key of the wrapper that has the initial value of `supplies`."""

    def __init__(self, arms: int, rng: np.random.Generator, base: KernelPolicy) -> None:
        need_plain_duels(base, f"{self.prefix}-{base.name}")
        for lacking in (_lacking_kernel(type(self), base), _lacking_field(type(self), base)):
            if lacking is not None:
                raise _cannot_wrap(self.prefix, base.name, lacking)
        self.base = base
        self.notes = (*self.extra_notes, *base.notes, *self.last_notes)  # type: ignore[misc]
        self.in_order = base.in_order  # type: ignore[misc]
        self.ties = base.ties  # type: ignore[misc]
        self.name = f"{self.prefix}-{base.name}"  # type: ignore[misc]
        prior_knowledge = (
            *self.adds_prior_knowledge,
            *(key for key in base.prior_knowledge if key != self.supplies),
        )
        self.prior_knowledge = tuple(dict.fromkeys(prior_knowledge))  # type: ignore[misc]
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
        """Return a new wrapper with one more arm around the same wrapped policy."""
        self.base.state = self.state.base
        self.base.widen()
        own = {p.name: self.parameters[p.name] for p in parameters_of(type(self), _CONTEXT)}
        return type(self)(self.arms + 1, np.random.default_rng(0), self.base, **own)

    @staticmethod
    def wrap(inner: Kernels) -> Kernels:
        """Return the kernels of the composition; `inner` has those of the wrapped policy."""
        raise NotImplementedError

    def began(self) -> int | None:
        """Return the round that the wrapped policy counts as 1, or None without restarts."""
        return None

    def stage(self) -> Stage:
        """Return the phase of the wrapped policy, in rounds of the wrapper."""
        self.base.state = self.state.base
        stage, began = self.base.stage(), self.began()
        if began is None:
            return stage
        stage = stage.shift_rounds(began - 1)
        return stage if stage.episode_start is not None else stage._replace(episode_start=began)

    def contest(self) -> Contest:
        """Return leader's round and challengers of the wrapped policy, in rounds of the wrapper."""
        self.base.state = self.state.base
        return self.base.contest().shift_rounds((self.began() or 1) - 1)

    def grow(self) -> None:
        """Grow the wrapped policy's state."""
        self.base.state = self.state.base
        self.base.grow()
        self.state = self.state._replace(base=self.base.state)


@hot
def _same_round(state: Any, t: int) -> int:
    return t


@hot
def since_alarm(state: Any, t: int) -> int:
    """Convert round t to the count of a wrapped policy that restarts at each alarm."""
    return max(1, t - state.numbers[0].start + 1)


def pass_on(inner: Kernels, local: Any = _same_round) -> dict[str, Any]:
    """Return the kernels that delegate to the wrapped policy: all but `ask`, `tell` and `reset`.

    Parameters
    ----------
    inner
        The kernels of the wrapped policy.
    local
        Kernel ``(state, t) -> t'`` that converts a round of the wrapper to one of the wrapped
        policy. Default: no conversion.

    Returns
    -------
    dict
        Arguments for the constructor of `Kernels`; None for kernels that `inner` lacks.
    """
    best_guess, change, present, add_past_vote = (
        inner.best_guess,
        inner.change,
        inner.present,
        inner.add_past_vote,
    )

    def best_guess_inside(state):  # type: ignore[no-untyped-def]
        return best_guess(state.base)

    def change_inside(state, rng, t, arm, here):  # type: ignore[no-untyped-def]
        change(state.base, rng, local(state, t), arm, here)

    def present_inside(state, arm):  # type: ignore[no-untyped-def]
        return present(state.base, arm)

    def add_past_vote_inside(state, winner, loser, weight):  # type: ignore[no-untyped-def]
        add_past_vote(state.base, winner, loser, weight)

    return {
        "best_guess": best_guess and kernel(best_guess_inside),
        "any_duel": inner.any_duel,
        "unanswered": inner.unanswered,
        "change": change and kernel(change_inside),
        "present": present and hot(present_inside),
        "add_past_vote": add_past_vote and kernel(add_past_vote_inside),
    }


def presence_inside(inner: Kernels) -> Any:
    """Return a kernel ``(state, arm)`` for presence; constant 1 if the set of arms is fixed."""
    present = pass_on(inner)["present"]

    def always(state, arm):  # type: ignore[no-untyped-def]
        return 1

    return present or hot(always)


def pick_inside(inner: Kernels) -> Any:
    """Return a kernel ``(state, place, but)``: the arm with index `place` among the present ones.

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


def register_wrapper(wrapper: type[Wrapper], bases: Iterable[str] = ()) -> None:
    """Register a wrapper: ``prefix-NAME`` resolves for each registered policy that qualifies.

    Parameters
    ----------
    wrapper
        The class; its attribute `prefix` is the first part of the names.
    bases
        Policies whose compositions are listed in help and documentation. Default: none.
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
                *(p for p in inner.parameters if p.name not in {*names, *_OWN, wrapper.supplies}),
            ),
            summary=f"{(wrapper.__doc__ or '').partition(chr(10))[0]} Around: {inner.name}.",
        )

    for base in bases:
        POLICIES.add(compose(POLICIES[base]))


def _need_wrappable(wrapper: type[Wrapper], inner: Entry[Policy]) -> None:
    """Raise DriftduelError if a registry entry visibly lacks a required property."""
    factory: Any = getattr(inner.factory, "wrapper", inner.factory)
    lacking = None
    if not (isinstance(factory, type) and issubclass(factory, KernelPolicy)):
        lacking = "it has no compiled kernels; derive it from KernelPolicy"
    elif wrapper.supplies and wrapper.supplies not in {p.name for p in inner.parameters}:
        lacking = f"it has no key `{wrapper.supplies}`"
    elif hasattr(factory, "kernels"):  # otherwise they exist on instances only
        lacking = _lacking_kernel(wrapper, factory)
    if lacking is not None:
        raise _cannot_wrap(wrapper.prefix, inner.name, lacking)


def _lacking_kernel(wrapper: type[Wrapper], base: Any) -> str | None:
    """Return which required kernel a policy or class of policies lacks, or None."""
    kernels: Kernels = base.kernels
    if wrapper.needs_reset and kernels.reset is None:
        return "it has no kernel `reset`, which resets its learned state"
    if wrapper.needs_best_guess and kernels.best_guess is None:
        return "it has no kernel `best_guess`"
    if wrapper.needs_wins and not kernels.any_duel:
        return "its kernels do not set `any_duel=True`: `tell` takes only duels that `ask` chose"
    return None


def _lacking_field(wrapper: type[Wrapper], base: KernelPolicy) -> str | None:
    """Return which field of a record is missing, or outlives the win counts; else None."""
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
        f"its state keeps `{lasting[0]}` outside of `wins`, so expired answers would still have an "
        f"effect; if they would not, name the field in `transient`"
    )


def _cannot_wrap(prefix: str, name: str, lacking: str) -> DriftduelError:
    return DriftduelError(f"{prefix!r} cannot be put around policy {name!r}: {lacking}.")


def prior_knowledge_of(entry: Entry[Policy]) -> tuple[str, ...]:
    """Return names of the prior knowledge of an entry, including that of a wrapped policy."""
    factory: Any = entry.factory
    if isinstance(factory, Composition):
        inside = [
            t for t in prior_knowledge_of(POLICIES[factory.base]) if t != factory.wrapper.supplies
        ]
        return tuple(dict.fromkeys((*factory.wrapper.adds_prior_knowledge, *inside)))
    prior_knowledge: tuple[str, ...] = factory.prior_knowledge
    return prior_knowledge


def in_panel_by(entry: Entry[Policy]) -> str:
    """Return the effect of panel mode on the guarantee of a registered policy."""
    factory: Any = entry.factory
    if isinstance(factory, Composition):
        return _in_panel(factory.wrapper, in_panel_by(POLICIES[factory.base]))
    said: str = factory.in_panel
    return said


def _in_panel(wrapper: type[Wrapper], inside: str) -> str:
    return inside if inside == SAME else wrapper.in_panel or inside


class Composition:
    """A factory of a wrapper around a registered policy, called with the keys of both."""

    def __init__(self, wrapper: Any, base: str) -> None:
        self.wrapper, self.base = wrapper, base

    def __call__(self, arms: int, rng: np.random.Generator, **values: Any) -> Any:
        """Return a new wrapper around a new instance of the wrapped policy."""
        inner = POLICIES[self.base]
        mine = {parameter.name for parameter in parameters_of(self.wrapper, _CONTEXT)}
        # A key of both, such as the horizon, is passed to both.
        shared = [p.name for p in inner.parameters if p.name not in _OWN]
        for_base = {name: values[name] for name in shared if name in values}
        values = {name: value for name, value in values.items() if name in mine}

        if self.wrapper.supplies:
            for_base[self.wrapper.supplies] = values[self.wrapper.supplied_by]
        return self.wrapper(arms, rng, inner.factory(arms=arms, rng=rng, **for_base), **values)


@hot
def no_notes_inside(notes: Any) -> None:
    """Set the notes of the wrapped policy to 0, for duels that it did not choose.

    Without this the array would contain values of an earlier duel, which a restored policy does
    not have: games would differ after loading.
    """
    for i in range(1, len(notes)):
        notes[i] = 0.0


def built_again(policy: KernelPolicy, **changed: Any) -> Any:
    """Return a new policy of the same class and generator, with some parameters changed."""
    factory: Any = POLICIES[policy.name].factory if policy.name in POLICIES else type(policy)
    return factory(arms=policy.arms, rng=policy.rng, **{**policy.parameters, **changed})
