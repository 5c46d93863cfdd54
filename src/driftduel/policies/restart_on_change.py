"""A wrapper that restarts a policy whenever an option comes or goes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel.errors import DriftduelError
from driftduel.policies.base import RESTARTED, Duel, KernelPolicy, Policy, need_plain_duels
from driftduel.policies.fields import PRESENT, ROUND, Scope, verify
from driftduel.policies.info import Challenger, Contest, Stage
from driftduel.policies.registry import POLICIES
from driftduel.policies.wrapper import Composition
from driftduel.specs import Entry

__all__ = ["RestartOnChange"]

_INSIDE = "inside."


class RestartOnChange(Policy):
    """Restart a policy whenever an option comes or goes.

    For policies with a fixed set of arms. The wrapped policy is built for the present arms and
    rebuilt without memory at every change, which is listed as a restart. A single present arm is
    shown alone. Games use `ask` and `tell` (interpreted), also if the wrapped policy is compiled.

    **Late answers** to duels from before a change are dropped. Past votes are passed on if the
    wrapped policy supports them, and are lost at the next change; votes on an absent arm are
    ignored.

    Parameters
    ----------
    arms, rng
        The number of arms K, and the generator, which the wrapped policy shares.
    factory
        The callable that builds the wrapped policy from arms, rng and its keys.
    keys
        The keyword arguments of the factory.
    """

    prefix = "anew"
    supplies = ""
    adds_prior_knowledge: tuple[str, ...] = ()
    guarantee = "that of the policy inside, change by change"
    in_panel = ""
    source = "folklore"
    confidence = "exact: a composition, nothing of the policy inside is changed"

    def __init__(
        self, arms: int, rng: np.random.Generator, factory: Any, keys: Mapping[str, Any]
    ) -> None:
        inside: Policy = factory(arms=arms, rng=rng, **keys)
        self.name = f"{self.prefix}-{inside.name}"  # type: ignore[misc]
        for fact in ("in_order", "ties", "prior_knowledge", "alerts", "draws", "bounded_memory"):
            setattr(self, fact, getattr(inside, fact))
        for fact in ("easy_rounds", "easy_regret", "in_panel", "any_duel"):
            setattr(self, fact, getattr(inside, fact))
        super().__init__(arms, rng)
        self.parameters = dict(keys)
        self._factory = factory
        self._began = 1
        self._take(tuple(range(arms)), inside)

    def _take(self, here: tuple[int, ...], inside: Policy | None) -> None:
        """Install a policy for these arms, or None for a single present arm."""
        if inside is not None:
            need_plain_duels(inside, self.name or f"anew-{inside.name}")
        self._here, self._inside = here, inside
        self._place = {arm: place for place, arm in enumerate(here)}
        self._enter_mode()

    def _build(self, here: tuple[int, ...]) -> Policy | None:
        if len(here) == 1:
            return None
        inside: Policy = self._factory(arms=len(here), rng=self.rng, **self.parameters)
        return inside

    def _enter_mode(self) -> None:
        """Set the mode of the wrapped policy."""
        inside = self._inside
        if inside is not None and inside.mode != self._mode:
            inside.configure(mode=self._mode)
        self.unanswered = inside is not None and inside.unanswered

    def _local(self, t: int) -> int:
        """Convert a round to the count of the wrapped policy."""
        return t - self._began + 1

    def choose(self, t: int) -> tuple[int, int, tuple[float, ...]]:
        """Return the arms of round `t` (from 1) and the notes to pass to `learn`."""
        here, inside = self._here, self._inside
        if inside is None:
            return here[0], here[0], ()
        inside.ledger.asked = local = self._local(t)
        first, second, notes = inside.choose(local)
        return here[first], here[second], notes

    def learn(self, t: int, first: int, second: int, won: int, notes: tuple[float, ...]) -> int:
        """Learn a result: `first` won (1), lost (0), or there is no result (-1)."""
        if t < self._began or self._inside is None:
            return 0
        place = self._place
        flags = self._inside.learn(self._local(t), place[first], place[second], won, notes)
        return flags & RESTARTED

    @property
    def present(self) -> tuple[int, ...]:
        """The arms that may be chosen now, ascending."""
        return self._here

    def change(self, arm: int, *, here: bool) -> None:
        """Rebuild the wrapped policy with one arm more or less."""
        arms = {*self._here, arm} if here else {*self._here} - {arm}
        present = tuple(sorted(arms))
        self._take(present, self._build(present))
        asked, restarts = self.ledger.asked, self.ledger.restarts
        self._began = asked + 1
        if asked and restarts[-1:] != [asked]:
            restarts.append(asked)

    def widen(self) -> None:
        """Extend the set of arms by one, which is absent until a call of `change`."""
        self._arms += 1

    def add_past_vote(
        self, first: int, second: int, winner: int | None, weight: float = 1.0
    ) -> None:
        """Pass a past vote on present arms to the wrapped policy."""
        self.check_vote(first, second, winner, weight)
        if self._inside is not None and {first, second} <= {*self._here}:
            place = self._place
            won = None if winner is None else place[winner]
            self._inside.add_past_vote(place[first], place[second], won, weight)

    def best(self) -> int | None:
        """Return the arm to deploy now, or None if the wrapped policy has no best guess."""
        place = 0 if self._inside is None else self._inside.best()
        return None if place is None else self._here[place]

    def contest(self) -> Contest:
        """Return leader's round and challengers of the wrapped policy, in rounds and arms here."""
        if self._inside is None:
            return Contest()
        inside = self._inside.contest().shift_rounds(self._began - 1)
        challengers = inside.challengers
        return inside._replace(
            challengers=challengers
            and tuple(Challenger(self._here[arm], share) for arm, share in challengers)
        )

    def stage(self) -> Stage:
        """Return the phase of the wrapped policy, in rounds and arms of this policy."""
        if self._inside is None:
            return Stage(episode_start=self._began)
        inside = self._inside.stage().shift_rounds(self._began - 1)
        if inside.episode_start is None:
            inside = inside._replace(episode_start=self._began)
        active, good = (
            arms and tuple(self._here[arm] for arm in arms) for arms in (inside.active, inside.good)
        )
        return inside._replace(active=active, good=good)

    def get_state(self) -> Mapping[str, NDArray[Any]]:
        """Return present arms, their first round, and the state of the wrapped policy."""
        present = np.zeros(self.arms, np.int64)
        present[list(self._here)] = 1
        state = {"present": present, "began": np.array([self._began], dtype=np.int64)}
        inside = self._inside
        if inside is None:
            return state
        if isinstance(inside, KernelPolicy):
            verify(inside, inside.state, self._local(self.ledger.asked))
        return {**state, **{_INSIDE + name: kept for name, kept in inside.get_state().items()}}

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Replace the learned state by the result of `get_state`, after validation."""
        asked = self.ledger.asked
        scope = Scope(self.arms, asked)
        for name, rule, size in (("present", PRESENT, self.arms), ("began", ROUND, 1)):
            kept = state.get(name)
            if kept is None or kept.dtype != np.int64 or kept.shape != (size,):
                raise DriftduelError(f"the saved state of {self.name!r} must have {size} {name}.")
            said = rule.wrong(kept, kept, scope)
            if said is not None:
                raise DriftduelError(f"the saved {name} of {self.name!r} {said}.")
        began = int(state["began"][0])
        if began < 1:
            raise DriftduelError(
                f"the saved began of {self.name!r} has {began}; rounds begin at 1."
            )
        here = tuple(np.flatnonzero(state["present"]).tolist())
        inside = self._build(here)
        within = {
            name.removeprefix(_INSIDE): kept
            for name, kept in state.items()
            if name not in ("present", "began")
        }
        self._began = began
        self._take(here, inside)
        if inside is not None:
            inside.ledger.asked = self._local(asked)
            inside.set_state(within)
        elif within:
            raise DriftduelError(f"the saved state of {self.name!r} has a policy for one arm.")

    def check_duel(self, duel: Duel) -> None:
        """Raise DriftduelError for a pending duel from a file that is impossible."""
        super().check_duel(duel)
        if duel.round < self._began:
            return  # chosen before the last change: its answer will be dropped
        place, inside = self._place, self._inside
        if not {duel.first, duel.second} <= {*place} or (inside is None and duel.notes):
            raise DriftduelError(
                f"it has a duel of arms {duel.first} and {duel.second} in round {duel.round}."
            )
        if inside is not None:
            within = (place[duel.first], place[duel.second], self._local(duel.round))
            inside.check_duel(Duel(*within, duel.notes))


class _Around(Composition):
    """Build `RestartOnChange` around a policy from the policy's keys."""

    def __call__(self, arms: int, rng: np.random.Generator, **values: Any) -> Any:
        return RestartOnChange(arms, rng, POLICIES[self.base].factory, values)


@POLICIES.open_prefix(RestartOnChange.prefix)
def _compose_restarting(inside: Entry[Policy]) -> Entry[Policy]:
    summary = f"{(RestartOnChange.__doc__ or '').partition(chr(10))[0]} Around: {inside.name}."
    factory = _Around(RestartOnChange, inside.name)
    return Entry(f"{RestartOnChange.prefix}-{inside.name}", factory, inside.parameters, summary)
