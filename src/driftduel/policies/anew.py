"""Any policy, started anew whenever an option comes or goes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftduel.errors import DriftduelError
from driftduel.policies.around import Composition
from driftduel.policies.base import RESTARTED, Duel, KernelPolicy, Policy
from driftduel.policies.fields import PRESENT, ROUND, Scope, verify
from driftduel.policies.info import Challenger, Contest, Stage
from driftduel.policies.registry import POLICIES
from driftduel.specs import Entry

__all__ = ["Anew"]

_INSIDE = "inside."


class Anew(Policy):
    """Start anew whenever an option comes or goes.

    For policies that cannot change their set of arms. The policy inside is built for the arms that
    are there, and built again, with all forgotten, at every change, which is listed as a restart.
    While one arm is there alone, it is shown alone. Played by `ask` and `tell`, whatever is inside.

    **Late answers** to duels from before a change are dropped. Votes of the past are heard if the
    policy inside can, and forgotten with all else at the next change; of an arm that is away it
    hears nothing.

    Parameters
    ----------
    arms, rng
        The number of arms K, and the randomness, which is that of the policy inside.
    factory
        Builds the policy inside, from arms, rng and its keys.
    keys
        Its keys.
    """

    prefix = "anew"
    supplies = ""
    tells: tuple[str, ...] = ()
    guarantee = "that of the policy inside, change by change"
    in_panel = ""
    source = "folklore"
    confidence = "exact: a composition, nothing of the policy inside is changed"

    def __init__(
        self, arms: int, rng: np.random.Generator, factory: Any, keys: Mapping[str, Any]
    ) -> None:
        inside: Policy = factory(arms=arms, rng=rng, **keys)
        self.name = f"{self.prefix}-{inside.name}"  # type: ignore[misc]
        for fact in ("in_order", "ties", "told", "alerts", "draws", "bounded_memory"):
            setattr(self, fact, getattr(inside, fact))
        for fact in ("easy_rounds", "easy_regret", "in_panel", "any_duel"):
            setattr(self, fact, getattr(inside, fact))
        super().__init__(arms, rng)
        self.parameters = dict(keys)
        self._factory = factory
        self._began = 1
        self._take(tuple(range(arms)), inside)

    def _take(self, here: tuple[int, ...], inside: Policy | None) -> None:
        """Go on with a policy for these arms, or with the one that is there alone."""
        self._here, self._inside = here, inside
        self._place = {arm: place for place, arm in enumerate(here)}
        self._enter_mode()

    def _build(self, here: tuple[int, ...]) -> Policy | None:
        if len(here) == 1:
            return None
        inside: Policy = self._factory(arms=len(here), rng=self.rng, **self.parameters)
        return inside

    def _enter_mode(self) -> None:
        """Let the policy inside do what this mode means to it."""
        inside = self._inside
        if inside is not None and inside.mode != self._mode:
            inside.configure(mode=self._mode)
        self.unanswered = inside is not None and inside.unanswered

    def _local(self, t: int) -> int:
        """Return what a round is to the policy inside."""
        return t - self._began + 1

    def choose(self, t: int) -> tuple[int, int, tuple[float, ...]]:
        """Pick the arms of round `t`, and the notes that `learn` will need."""
        here, inside = self._here, self._inside
        if inside is None:
            return here[0], here[0], ()
        inside.ledger.asked = local = self._local(t)
        first, second, notes = inside.choose(local)
        return here[first], here[second], notes

    def learn(self, t: int, first: int, second: int, won: int, notes: tuple[float, ...]) -> int:
        """Learn that `first` won (1), lost (0) or that nobody will ever know (-1)."""
        if t < self._began or self._inside is None:
            return 0
        place = self._place
        flags = self._inside.learn(self._local(t), place[first], place[second], won, notes)
        return flags & RESTARTED

    @property
    def present(self) -> tuple[int, ...]:
        """The arms that may be asked for now, ascending."""
        return self._here

    def change(self, arm: int, *, here: bool) -> None:
        """Start anew with one arm more or less."""
        arms = {*self._here, arm} if here else {*self._here} - {arm}
        present = tuple(sorted(arms))
        self._take(present, self._build(present))
        asked, restarts = self.ledger.asked, self.ledger.restarts
        self._began = asked + 1
        if asked and restarts[-1:] != [asked]:
            restarts.append(asked)

    def widen(self) -> None:
        """Make room for one more arm, which is absent until `change` says that it came."""
        self._arms += 1

    def hear(self, first: int, second: int, winner: int | None, weight: float = 1.0) -> None:
        """Let the policy inside hear a vote about arms that are there."""
        self.check_vote(first, second, winner, weight)
        if self._inside is not None and {first, second} <= {*self._here}:
            place = self._place
            won = None if winner is None else place[winner]
            self._inside.hear(place[first], place[second], won, weight)

    def best(self) -> int | None:
        """Return the arm to ship now; None if the policy inside takes nobody for the winner."""
        place = 0 if self._inside is None else self._inside.best()
        return None if place is None else self._here[place]

    def contest(self) -> Contest:
        """Tell how firmly its leader leads inside."""
        if self._inside is None:
            return Contest()
        inside = self._inside.contest().later(self._began - 1)
        challengers = inside.challengers
        return inside._replace(
            challengers=challengers
            and tuple(Challenger(self._here[arm], share) for arm, share in challengers)
        )

    def stage(self) -> Stage:
        """Tell where the policy inside stands, in rounds and arms as they are counted here."""
        if self._inside is None:
            return Stage(episode_start=self._began)
        inside = self._inside.stage().later(self._began - 1)
        if inside.episode_start is None:
            inside = inside._replace(episode_start=self._began)
        active, good = (
            arms and tuple(self._here[arm] for arm in arms) for arms in (inside.active, inside.good)
        )
        return inside._replace(active=active, good=good)

    def get_state(self) -> Mapping[str, NDArray[Any]]:
        """Return who is there, since when, and all that the policy inside has learned."""
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
        """Take back what `get_state` returned, after checking that it fits."""
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
        """Refuse a duel that waits for its answer and cannot have been asked for."""
        super().check_duel(duel)
        if duel.round < self._began:
            return  # from before the last change: it will be dropped
        place, inside = self._place, self._inside
        if not {duel.first, duel.second} <= {*place} or (inside is None and duel.notes):
            raise DriftduelError(
                f"it has a duel of arms {duel.first} and {duel.second} in round {duel.round}."
            )
        if inside is not None:
            within = (place[duel.first], place[duel.second], self._local(duel.round))
            inside.check_duel(Duel(*within, duel.notes))


class _Around(Composition):
    """Build `Anew` around a policy from the policy's keys."""

    def __call__(self, arms: int, rng: np.random.Generator, **values: Any) -> Any:
        return Anew(arms, rng, POLICIES[self.base].factory, values)


@POLICIES.open_prefix(Anew.prefix)
def _anew(inside: Entry[Policy]) -> Entry[Policy]:
    summary = f"{(Anew.__doc__ or '').partition(chr(10))[0]} Around: {inside.name}."
    factory = _Around(Anew, inside.name)
    return Entry(f"{Anew.prefix}-{inside.name}", factory, inside.parameters, summary)
