"""The contract between a policy and everyone who plays it."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from driftduel._compile import entry
from driftduel._random import address_of
from driftduel.errors import DriftduelError
from driftduel.policies.fields import MOST, Rule, verify, verify_notes, widened
from driftduel.policies.info import Contest, Info, Stage
from driftduel.policies.ledger import ORDERS, TIES, UNANSWERED, Duel, Ledger
from driftduel.policies.modes import COIN, MODES, SAME, STAND_IN, StandIns, count_arms, standing_in
from driftduel.wording import counted, listed

__all__ = ["GROW", "RESTARTED", "Duel", "Info", "KernelPolicy", "Kernels", "Policy"]

# What a `tell` kernel may answer; 0 is nothing to report, and the two may be added.
GROW = 1
RESTARTED = 2


class Policy(ABC):
    """Choose two arms, hear who won, learn.

    The contract
    ------------
    - `ask` returns a `Duel`. It may be called again before the answer to an earlier duel came.
    - `tell` takes a duel that was asked for and the arm that won it, or None for a tie. Every duel
      is answered at most once, or given up with `forget`. Anything else is an error and changes
      nothing.
    - **Late answers.** Learning in the order of asking (``order="asked"``) an answer that comes
      early waits until all duels before it are answered or forgotten; meanwhile the policy goes on
      asking with what it knows. Learning in that of arrival (``order="arrival"``) it learns from
      each answer at once. Either way an answer is weighted with the duel's own notes, as things
      stood when it was asked for. A policy with ``in_order = True`` needs the first; all others
      begin with the second, and `configure` changes it. Each says what a forgotten duel means.
    - **Ties** teach nothing or are decided by a coin: `ties`, which `configure` changes.
    - **Modes.** In ``mode="serve"`` a policy may ask for a duel of an arm with itself
      (`Duel.alone`): show it alone, to nobody's vote. It has no answer that means anything: `tell`
      it with that arm, and the policy flips a coin of its own. In ``mode="panel"`` two different
      arms are shown in every round, unless only one is present; `in_panel` says what that means for
      its guarantee. `configure` changes the mode, too.
    - **Options come and go**: `retire` takes an arm away and `admit` brings it back, or a new one;
      an arm that is not `present` is never asked for. Who cannot do this says so.
    - `best` names the arm to ship now, one that is present, or None if it takes nobody for the
      winner. Asking changes nothing.
    - `save` writes all of it, unanswered duels included, as an NPZ file without pickles; `load`
      continues to the bit.
    - `info` tells what a person wants to know: who leads and since when, who challenges and how
      near an alarm is, what it was told, what it waits for. Asking changes nothing.
    - Randomness comes from the generator it was given, and from nowhere else. It never sees a
      world.

    To write one in plain Python, subclass this and write `choose`, `learn` and, to be able to
    save, `get_state` and `set_state`. To make it fast, see `KernelPolicy`; docs/policies.md has
    an example of both.

    Parameters
    ----------
    arms
        The number of arms K. This and `rng` every policy takes; each says what its own keys are.
    rng
        Its randomness.
    """

    name: ClassVar[str] = ""
    """The name under which it is registered, which sets it."""
    in_order: ClassVar[bool] = False
    """Whether answers can be learned in the order of asking only."""
    unanswered: bool = False
    """Whether `learn` wants to hear of duels that tied or will never be answered."""
    any_duel: bool = False
    """Whether `learn` may be told of duels that `choose` did not ask for."""
    ties: ClassVar[str] = "skip"
    """What a tie teaches unless `configure` says otherwise: nothing (``skip``), which is right for
    what counts wins or plays matches, or what a ``coin`` says, which weighted estimates need."""
    told: ClassVar[tuple[str, ...]] = ()
    """What it must be told beyond the number of arms, by the names of its parameters."""
    alerts: ClassVar[bool] = False
    """Whether its restarts are alarms, raised by what it saw and not by a clock or an oracle."""
    draws: ClassVar[bool] = True
    """Whether it draws random numbers; one that does not plays the same duels from all seeds."""
    bounded_memory: ClassVar[bool] = True
    """Whether it holds the same amount of memory however many rounds it plays."""
    easy_rounds: ClassVar[int] = 20_000
    """Rounds after half of which it should have found the winner of an easy world of 3 arms."""
    easy_regret: ClassVar[str] = "dynamic"
    """The kind of regret that it is made for, or the benchmark that it is against."""
    guarantee: ClassVar[str] = "none known"
    """What is proved of it, in a few words."""
    in_panel: ClassVar[str] = COIN
    """What becomes of that where two different arms are shown in every round."""
    source: ClassVar[str] = ""
    """Authors, title, venue, year."""
    confidence: ClassVar[str] = ""
    """How sure we are that it is what the authors mean, and where it differs."""
    parameters: dict[str, Any]
    """What it was built with, by key; a registered class keeps it by itself."""

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        if not isinstance(arms, int | np.integer) or arms < 2:
            raise DriftduelError(f"arms={arms} must be a whole number at least 2.")
        self._arms = int(arms)
        self.rng = rng
        self._mode = "serve"
        vars(self).setdefault("parameters", {})
        order = "asked" if self.in_order else "arrival"
        self.ledger = Ledger(order, self.ties, rng.spawn(1)[0])

    def configure(
        self, *, order: str | None = None, ties: str | None = None, mode: str | None = None
    ) -> None:
        """Say how duels are to be shown and answers to be learned, before the first duel.

        Parameters
        ----------
        order
            ``asked``: in the order of asking, whenever they come; what people and judges need,
            whose delay may depend on what they prefer. ``arrival``: at once, as they come. None:
            as it is. A policy that is `in_order` has no choice.
        ties
            ``skip``: a tie teaches nothing. ``coin``: it counts as a win of either arm, by a fair
            coin. None: as it is.
        mode
            ``serve``: an arm may be shown alone. ``panel``: two different arms, always. None: as it
            is.
        """
        if self.ledger.asked:
            raise DriftduelError(
                f"order, ties and mode are set before the first duel; {self.ledger.asked} were "
                f"asked for."
            )
        settings = (("order", order, ORDERS), ("ties", ties, TIES), ("mode", mode, MODES))
        for key, value, known in settings:
            if value is not None and value not in known:
                raise DriftduelError(f"{key}={value!r} must be {' or '.join(known)}.")
        if self.in_order and order == "arrival":
            raise DriftduelError(
                f"order='arrival' is not for {self.name!r}: it learns in the order of asking."
            )
        self.ledger.order = order or self.ledger.order
        self.ledger.ties = ties or self.ledger.ties
        if mode not in (None, self._mode):
            self._mode = str(mode)
            self._enter_mode()

    def _enter_mode(self) -> None:
        """Put in place what chooses and learns in this mode, unless it is."""
        in_place = "choose" in vars(self)
        if self._mode == "panel" and not in_place:
            self._stand_ins = StandIns(self)
            self.choose = self._stand_ins.choose  # type: ignore[method-assign]
            self.learn = self._stand_ins.learn  # type: ignore[method-assign]
            self.unanswered = True
        elif self._mode == "serve" and in_place:
            del self.choose, self.learn
            self.unanswered = self._stand_ins.unanswered

    @property
    def mode(self) -> str:
        """How duels are shown: ``serve`` or ``panel``; `configure` sets it."""
        return self._mode

    @property
    def arms(self) -> int:
        """The number of arms K."""
        return self._arms

    @property
    def restarts(self) -> list[int]:
        """Rounds after whose answer it forgot everything and started anew."""
        return self.ledger.restarts

    @abstractmethod
    def choose(self, t: int) -> tuple[int, int, tuple[float, ...]]:
        """Pick the arms of round `t`, and the notes that `learn` will need."""

    @abstractmethod
    def learn(self, t: int, first: int, second: int, won: int, notes: tuple[float, ...]) -> int:
        """Learn that `first` won (1), lost (0) or that nobody will ever know (-1).

        Returns `RESTARTED` when everything was forgotten, else 0.
        """

    def ask(self) -> Duel:
        """Ask for the next duel."""
        t = self.ledger.asked + 1
        first, second, notes = self.choose(t)
        if not (0 <= first < self._arms and 0 <= second < self._arms):
            raise no_such_arms(self, first, second, t)
        return self.ledger.enter(first, second, notes)

    def tell(self, duel: Duel, winner: int | None) -> None:
        """Tell which arm won a duel, or that neither did.

        Parameters
        ----------
        duel
            A duel that `ask` returned and that is not answered yet.
        winner
            ``duel.first``, ``duel.second``, or None for a tie.
        """
        duel = Duel.of(duel)
        self._settle(duel, self.ledger.answer(duel, winner))

    def tell_first_won(self, duel: Duel, won: int) -> None:
        """Tell whether the first arm won (1), lost (0) or that nobody did (-1).

        For self-duels this is the coin. A -1 is skipped whatever `ties` says: whoever decides ties
        by a coin tells what the coin said.
        """
        if won not in (1, 0, UNANSWERED):
            raise DriftduelError(f"won={won!r} must be 1 if the first arm won, or 0.")
        self._settle(self.ledger.take(Duel.of(duel)), int(won))

    def forget(self, duel: Duel) -> None:
        """Give up on a duel whose answer will never come."""
        self._settle(self.ledger.take(Duel.of(duel)), UNANSWERED)

    def _settle(self, duel: Duel, won: int) -> None:
        ledger = self.ledger
        for (first, second, t, notes), result in ledger.settle(duel, won):
            if result == UNANSWERED and not self.unanswered:
                continue
            if self.learn(t, first, second, result, notes) & RESTARTED:
                ledger.restarts.append(t)

    @property
    def present(self) -> tuple[int, ...]:
        """The arms that may be asked for now, ascending."""
        return tuple(range(self._arms))

    @property
    def can_change(self) -> bool:
        """Whether arms may leave and come."""
        return type(self).change is not Policy.change

    def retire(self, arm: int) -> None:
        """Take an arm away: it is not asked for until it is admitted again.

        Its open duels may still be answered. The last arm cannot be taken away.
        """
        here = self.present
        if arm not in here:
            raise DriftduelError(f"arm {arm!r} cannot be retired; present are {listed(here)}.")
        if len(here) == 1:
            raise DriftduelError(f"arm {arm} is the only one present and cannot be retired.")
        self.change(int(arm), here=False)

    def admit(self, arm: int | None = None) -> int:
        """Let an arm take part, again or for the first time; return it.

        Parameters
        ----------
        arm
            One that was retired, or None for one more than there ever was.
        """
        if arm is None:
            self.widen()
            self._enter_mode()
            arm = self._arms - 1
        elif isinstance(arm, bool) or arm not in range(self._arms) or arm in self.present:
            raise DriftduelError(
                f"arm {arm!r} cannot be admitted: it must be one that was retired, or None for a "
                f"new one; present are {listed(self.present)} of {self._arms}."
            )
        self.change(int(arm), here=True)
        return int(arm)

    def change(self, arm: int, *, here: bool) -> None:
        """Learn that an arm leaves or comes; `retire` and `admit` have checked that it can.

        A policy in plain Python that can do this overrides it, and `present`.
        """
        raise self._cannot("take options away or add them")

    def widen(self) -> None:
        """Make room for one more arm, which is absent until `change` says that it came."""
        raise self._cannot("take one more option than it was made for")

    def _cannot(self, what: str) -> DriftduelError:
        return DriftduelError(
            f"policy {self.name!r} cannot {what}; 'anew-{self.name}' starts it anew at every "
            f"change."
        )

    def hear(self, first: int, second: int, winner: int | None, weight: float = 1.0) -> None:
        """Learn from a vote that nobody asked this policy for, such as one of the past.

        Parameters
        ----------
        first, second
            The two arms that were compared.
        winner
            One of them, or None for a tie.
        weight
            How many votes it counts for.
        """
        raise DriftduelError(
            f"policy {self.name!r} can learn only from duels that it asked for itself."
        )

    def check_vote(self, first: int, second: int, winner: int | None, weight: float) -> None:
        """Refuse a vote that nobody can have given."""
        for arm in (first, second):
            if isinstance(arm, bool) or arm not in range(self.arms):
                raise DriftduelError(f"arm {arm!r} was never there; arms are 0 to {self.arms - 1}.")
        if first == second or winner not in (first, second, None):
            raise DriftduelError(
                f"winner={winner!r} cannot have won a vote between {first} and {second}; it must "
                f"be one of two different arms, or None for a tie."
            )
        if not (0 < weight <= MOST):
            raise DriftduelError(f"weight={weight!r} must be a number above 0.")

    def warm(self) -> None:  # noqa: B027
        """Compile what `ask` and `tell` need, if anything, before anybody waits for it."""

    def best(self) -> int | None:
        """Return the arm to ship now; None if it takes nobody for the winner."""
        return None

    def declared(self) -> int | None:
        """Return the arm declared the best with the policy's stated confidence; None before."""
        return None

    def contest(self) -> Contest:
        """Tell how firmly the leader leads, for `info`; like all it says, without a change."""
        return Contest()

    def false_alarms_at_most(self) -> float | None:
        """Return how many false alarms are expected by now, at most; None if nobody knows."""
        return None

    def stage(self) -> Stage:
        """Tell where the algorithm stands in its course, for `info` and, every round, a trace."""
        return Stage()

    def info(self) -> Info:
        """Tell what the policy is up to; print it, or look at its fields."""
        ledger, parameters = self.ledger, self.parameters
        return Info(
            policy=self.name,
            rounds=ledger.asked,
            restarts=list(self.restarts),
            leader=self.best(),
            alarms=len(self.restarts) if self.alerts else None,
            told={key: parameters[key] for key in self.told if parameters.get(key) is not None},
            mode=self.mode,
            order=ledger.order,
            ties=ledger.ties,
            present=self.present,
            open=len(ledger.open),
            held=len(ledger.held),
            **self.contest()._asdict(),
            **self.stage()._asdict(),
        )

    def save(self, path: str | Path) -> None:
        """Write the policy, including pending duels, to an NPZ file without pickles, atomically.

        The same as the function `driftduel.save_policy`.
        """
        from driftduel.policies.saving import save_policy

        save_policy(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the policy in a file written by `save`; it continues to the bit.

        Raises
        ------
        DriftduelError
            If the file is not a saved policy, or its policy is not an instance of this class.
        """
        from driftduel.policies.saving import load_policy

        policy = load_policy(path)
        if not isinstance(policy, cls):
            raise DriftduelError(
                f"{str(path)!r} is a saved {type(policy).__name__} ({policy.name}), not a "
                f"{cls.__name__}; use Policy.load for policies of any class."
            )
        return policy

    def get_state(self) -> Mapping[str, NDArray[Any]]:
        """Return everything learned, as named arrays of plain numbers."""
        raise DriftduelError(f"policy {self.name!r} cannot be saved: it has no get_state.")

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `get_state` returned, after checking that it fits."""
        raise DriftduelError(f"policy {self.name!r} cannot be loaded: it has no set_state.")

    def check_duel(self, duel: Duel) -> None:
        """Refuse a duel out of a file that `ask` cannot have returned."""
        if not (0 <= duel.first < self._arms and 0 <= duel.second < self._arms):
            raise DriftduelError(f"it has a duel of arms {duel.first} and {duel.second}.")

    @property
    def spec(self) -> str:
        """Its name, and the keys that are not as they are by default."""
        from driftduel.policies.registry import spec_of

        return spec_of(self)

    def __repr__(self) -> str:
        from driftduel.policies.registry import is_registered

        registered = is_registered(self)
        given = f"{self.spec!r}, arms={self.arms}" if registered else f"arms={self.arms}"
        if self.mode != "serve":
            given += f", mode={self.mode!r}"
        made = f"{'make_policy' if registered else type(self).__name__}({given})"
        asked = self.ledger.asked
        return f"<{made} after {counted(asked, 'duel')}>" if asked else made

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.info()._repr_html_()}"


class Kernels(NamedTuple):
    """The compiled parts of a fast policy.

    ``ask(state, rng, t, notes) -> (first, second)`` writes its notes into the array `notes` and
    draws its numbers with ``driftduel.policies.uniform(rng)``;
    ``tell(state, t, first, second, won, notes) -> flags`` returns `GROW`, `RESTARTED`, their sum
    or 0. ``reset(state)`` forgets everything learned, for those who restart policies (None: cannot
    be restarted). All change the arrays of `state` in place.

    ``suspect(state) -> arm`` names the arm that it takes for the winner as things stand, also in
    the middle of exploring and before the first duel, when it may be any. It changes nothing and
    draws nothing, so it may be asked at any time (None: nobody in particular).

    With ``any_duel`` a `tell` kernel may be told of duels that its `ask` never chose, with notes
    that mean nothing. Without, it must not: a match or a queue would count them as its own.

    With ``unanswered`` a `tell` kernel takes -1 for `won`: nobody won, or will ever answer.
    Without, it is not told.

    ``change(state, rng, t, arm, here)`` says before round `t` that an arm leaves (0) or comes (1),
    and ``present(state, arm)`` returns 1 for an arm that is there, 0 for another; a policy has both
    or neither (None: the set of arms cannot change). An absent arm is never asked for.

    ``hear(state, winner, loser, weight)`` counts a vote of the past (None: cannot).

    ``panel`` is another tuple of kernels with the same notes, for the mode in which two different
    arms are shown in every round (None: see `driftduel.policies.modes`). It is over the same record
    unless the policy's `_enter_mode` replaces that.

    ``declared(state) -> arm`` returns the arm that the policy declares the best with its stated
    confidence, -1 as long as it does not (None: it never does).
    """

    ask: Callable[..., Any]
    tell: Callable[..., Any]
    reset: Any = None
    suspect: Any = None
    any_duel: bool = False
    unanswered: bool = False
    change: Any = None
    present: Any = None
    hear: Any = None
    panel: Any = None
    declared: Any = None


class KernelPolicy(Policy):
    """A policy whose `choose` and `learn` are compiled kernels over a record of arrays.

    The same kernels serve `ask` and `tell` here and the compiled loop of `driftduel.games`; there
    is one truth per policy. A subclass sets `kernels` and `notes`, and puts its first `state`, a
    NamedTuple of arrays, in place; each field says what its numbers may be, in the words of
    `driftduel.policies.fields`, so that a damaged file cannot lead a kernel astray. A `tell` kernel
    that is about to run out of room returns `GROW`; `grow` then replaces the state by a larger one.
    """

    kernels: ClassVar[Kernels]
    notes: ClassVar[tuple[Rule, ...]] = ()
    """The numbers that a duel carries from `ask` to `tell`: what each of them may be."""
    rules: ClassVar[Mapping[str, Rule]] = {}
    """What some fields may be, if its record is another policy's, which declares otherwise."""
    transient: ClassVar[tuple[str, ...]] = ()
    """Fields beside the counts `wins` that keep no arm from being played once the answers behind
    them are gone: the current pass over the arms, a tie-break. Where all others are scratch or
    constant, a window or a discount on `wins` is enough to forget; see `driftduel.testing`."""
    state: Any

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        super().__init__(arms, rng)
        self.rng_address = address_of(rng)
        self.scratch = np.zeros(len(self.notes))
        self.unanswered, self.any_duel = self.kernels.unanswered, self.kernels.any_duel
        self._served: Any = None  # kernels, notes and draws in serve mode
        self._warm: Any = None  # the state for whose types `_ask` and `_tell` were compiled
        self._looked: Any = None  # the same of `_suspect`

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs: not where this one's generator lives, nor what is compiled."""
        own = ("rng_address", "_ask", "_tell", "_suspect")
        kept = {name: value for name, value in vars(self).items() if name not in own}
        return {**kept, "_warm": None, "_looked": None}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        self.rng_address = address_of(self.rng)

    def _enter_mode(self) -> None:
        """Put the kernels of this mode in place; they share the record."""
        if self._served is None:
            self._served = (self.kernels, self.notes, self.draws)
        kernels, notes, draws = self._served
        if self._mode == "panel" and kernels.panel is not None:
            kernels = kernels.panel
        elif self._mode == "panel":
            kernels = standing_in(kernels, *count_arms(self))
            notes, draws = (STAND_IN, *notes), draws or self.in_panel != SAME
        self.kernels, self.notes, self.draws = kernels, notes, draws  # type: ignore[misc]
        self.scratch = np.zeros(len(self.notes))
        self.unanswered, self.any_duel = self.kernels.unanswered, self.kernels.any_duel
        self._warm = self._looked = None

    def warm(self) -> None:
        """Compile what `ask` and `tell` need, so that nobody waits for it at the first duel."""
        ask, tell = self.kernels.ask, self.kernels.tell
        self._ask = entry(ask, self.state, self.rng_address, 0, self.scratch)
        self._tell = entry(tell, self.state, 0, 0, 0, 0, self.scratch)
        self._warm = self.state

    def choose(self, t: int) -> tuple[int, int, tuple[float, ...]]:
        """Pick the arms of round `t`, and the notes that `learn` will need."""
        if self._warm is not self.state:
            self.warm()
        first, second = self._ask(self.state, self.rng_address, t, self.scratch)
        return int(first), int(second), tuple(self.scratch.tolist()) if self.notes else ()

    def learn(self, t: int, first: int, second: int, won: int, notes: tuple[float, ...]) -> int:
        """Learn that `first` won (1), lost (0) or that nobody will ever know (-1)."""
        if self._warm is not self.state:
            self.warm()
        if notes:
            self.scratch[:] = notes
        flags: int = self._tell(self.state, t, first, second, won, self.scratch)
        if flags & GROW:
            self.grow()
        return flags

    def best(self) -> int | None:
        """Return the arm to ship now; None if it takes nobody for the winner.

        It changes nothing, and may be any arm before there was a duel.
        """
        if self.kernels.suspect is None:
            return None
        if self._looked is not self.state:
            self._suspect, self._looked = entry(self.kernels.suspect, self.state), self.state
        return int(self._suspect(self.state))

    def declared(self) -> int | None:
        """Return the arm declared the best with the policy's stated confidence; None before."""
        kernel = self.kernels.declared
        arm = -1 if kernel is None else int(getattr(kernel, "py_func", kernel)(self.state))
        return None if arm < 0 else arm

    @property
    def present(self) -> tuple[int, ...]:
        """The arms that may be asked for now, ascending."""
        present = self.kernels.present
        if present is None:
            return super().present
        present = getattr(present, "py_func", present)  # faster than a compiled one from here
        return tuple(arm for arm in range(self.arms) if present(self.state, arm))

    @property
    def can_change(self) -> bool:
        """Whether arms may leave and come."""
        return self.kernels.change is not None

    def change(self, arm: int, *, here: bool) -> None:
        """Learn that an arm leaves or comes."""
        change = self.kernels.change
        if change is None:
            super().change(arm, here=here)
        change(self.state, self.rng_address, self.ledger.asked + 1, arm, int(here))

    def widen(self) -> None:
        """Make room for one more arm, which is absent until `change` says that it came."""
        if self.kernels.change is None:
            super().widen()
        fresh = self.wider()
        state = self.enlarged(self.state, fresh.state)
        verify(fresh, state, self.ledger.asked)
        self.state, self._arms = state, fresh.arms

    def wider(self) -> "KernelPolicy":
        """Return a fresh policy like this one, for one more arm; it shares nothing."""
        return type(self)(self._arms + 1, np.random.default_rng(0), **self.parameters)

    def enlarged(self, state: Any, fresh: Any) -> Any:
        """Return the record of one more arm: what is in `state`, and of the new one nothing.

        Each field's rule knows how; a policy whose records are not so simple does more.
        """
        return widened(self, state, fresh)

    def hear(self, first: int, second: int, winner: int | None, weight: float = 1.0) -> None:
        """Count a vote that nobody asked this policy for; half of a tie goes to each arm."""
        hear = self.kernels.hear
        if hear is None:
            super().hear(first, second, winner, weight)
        self.check_vote(first, second, winner, weight)
        if winner is None:
            hear(self.state, first, second, 0.5 * weight)
            hear(self.state, second, first, 0.5 * weight)
        else:
            hear(self.state, winner, first + second - winner, float(weight))

    def grow(self) -> None:
        """Make room after a kernel asked for it."""
        raise NotImplementedError

    def advance_to(self, t: int) -> None:
        """Note that a compiled loop asked for, and answered, everything up to round `t`."""
        self.ledger.advance_to(t)

    def get_state(self) -> Mapping[str, NDArray[Any]]:
        """Return everything learned, as named arrays of plain numbers."""
        return dict(_flat(self.state))

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `get_state` returned, after checking that it fits."""
        current = dict(_flat(self.state))
        if set(state) != set(current):
            names = ", ".join(current)
            raise DriftduelError(f"the saved state of {self.name!r} must have {names}.")
        for name, now in current.items():
            saved = state[name]
            if saved.dtype != now.dtype or saved.ndim != now.ndim:
                raise DriftduelError(
                    f"the saved {name} of {self.name!r} is {saved.dtype} of dimension "
                    f"{saved.ndim}; it must be {now.dtype} of dimension {now.ndim}."
                )
        taken = _nested(self.state, state)
        verify(self, taken, self.ledger.asked)
        self.state = taken

    def check_duel(self, duel: Duel) -> None:
        """Refuse a duel out of a file whose arms or notes `ask` cannot have written."""
        super().check_duel(duel)
        verify_notes(self, duel.notes, self.ledger.asked)

    def check_state(self, state: Any) -> None:
        """Refuse a state whose fields, each of them sound, do not belong together."""

    def require(self, sound: Any) -> None:
        """Refuse a saved state unless something holds of it."""
        if not sound:
            raise DriftduelError(f"the saved state of {self.name!r} does not hold together.")

    def rounds_inside(self, state: Any, rounds: int) -> int:
        """Return how many rounds a policy inside this one has seen, if there is one."""
        return rounds


def _flat(state: Any, prefix: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """Walk through the arrays of a record; a policy around another holds the other's record.

    Fields with names are an array each: only plain numbers are ever written.
    """
    for name, value in state._asdict().items():
        if hasattr(value, "_asdict"):
            yield from _flat(value, f"{prefix}{name}.")
        elif value.dtype.names:
            yield from ((f"{prefix}{name}.{field}", value[field]) for field in value.dtype.names)
        else:
            yield prefix + name, value


def _nested(like: Any, arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> Any:
    """Build a record like another out of named arrays."""
    values = {}
    for name, value in like._asdict().items():
        if hasattr(value, "_asdict"):
            values[name] = _nested(value, arrays, f"{prefix}{name}.")
        elif value.dtype.names:
            values[name] = _named(value, arrays, f"{prefix}{name}.")
        else:
            values[name] = np.array(arrays[prefix + name], order="C")
    return type(like)(**values)


def _named(like: NDArray[Any], arrays: Mapping[str, NDArray[Any]], prefix: str) -> NDArray[Any]:
    """Put fields with names together again."""
    names = like.dtype.names or ()
    shape = arrays[prefix + names[0]].shape  # which is not like's if there is room for more
    whole = np.empty(shape, like.dtype)
    for name in names:
        saved = arrays[prefix + name]
        if saved.shape != shape:
            raise DriftduelError(
                f"the saved {prefix}{name} has the shape {saved.shape}; it must be {shape}."
            )
        whole[name] = saved
    return whole


def no_such_arms(
    policy: Policy, first: int, second: int, t: int, here: NDArray[np.bool_] | None = None
) -> DriftduelError:
    """Say that a policy asked for arms that are not there; `here` tells which ones are."""
    there = f"arms are 0 to {policy.arms - 1}"
    if here is not None and here.size:
        there = f"present are {listed(np.flatnonzero(here).tolist())}"
    return DriftduelError(
        f"policy {policy.name!r} asked for arms {first} and {second} in round {t}; {there}."
    )


def generator_state(rng: np.random.Generator) -> str:
    """Write a generator's state as JSON; its numbers are larger than 64 bits."""
    return json.dumps(rng.bit_generator.state)


def restore_generator(text: str) -> np.random.Generator:
    """Make the generator that `generator_state` wrote down."""
    try:
        state = json.loads(text)
        if state["bit_generator"] != "PCG64":
            raise ValueError
        bit_generator = np.random.PCG64()
        bit_generator.state = state
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
        raise DriftduelError("the saved random state is not one of numpy's PCG64.") from None
    return np.random.Generator(bit_generator)
