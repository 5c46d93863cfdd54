"""The base classes of policies: `Policy` in plain Python, `KernelPolicy` with compiled kernels."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftduel._internal.compiler import entry
from driftduel._internal.kernel_random import address_of
from driftduel._internal.wording import counted, listed
from driftduel.errors import DriftduelError
from driftduel.policies.fields import MOST, Rule, verify, verify_notes, with_arm
from driftduel.policies.info import Contest, Info, Stage
from driftduel.policies.ledger import ORDERS, TIES, UNANSWERED, Duel, Ledger
from driftduel.policies.modes import (
    COIN,
    MODES,
    SAME,
    STAND_IN,
    PanelAdapter,
    count_arms,
    wrap_for_panel,
)
from driftduel.policies.slates import is_code
from driftduel.requests import RequestShape, ScaledRequest

__all__ = ["GROW", "RESTARTED", "Duel", "Info", "KernelPolicy", "Kernels", "Policy"]

# Flags that a `tell` kernel returns; 0 means neither, and both may be combined by addition.
GROW = 1
RESTARTED = 2


class Policy(ABC):
    """A dueling-bandit algorithm: choose two arms, receive the winner, learn.

    The contract
    ------------
    - `ask` returns a `Duel`. It may be called again while earlier duels are still pending.
    - `tell` takes a pending duel and the arm that won it, or None for a tie. Each duel is answered
      at most once, or dropped by the method `forget`. Any other call raises `DriftduelError` and
      leaves the state unchanged.
    - **Late answers.** With ``order="asked"`` answers are learned in the order of the rounds: an
      early answer is held until all duels before it are answered or forgotten, and `ask` uses the
      present state meanwhile. With ``order="arrival"`` each answer is learned immediately. Both
      orders use the duel's notes, which store weights as of the round in which it was chosen. A
      policy with ``in_order = True`` supports the first order only; for all others the default is
      the second, and `configure` changes it. The docstring of each policy defines the effect of a
      forgotten duel.
    - **Ties** are skipped or decided by a fair coin: see `ties` and `configure`.
    - **Slates.** A policy built with ``slate=m`` shows up to m arms: those of the duel and its
      `others`. `tell` takes the arm that was picked, or a ranking; see
      `driftduel.policies.slates`.
    - **Modes.** With ``mode="serve"`` a policy may choose a duel of an arm with itself
      (`Duel.alone`): show that arm alone and collect no vote. Its result carries no information:
      pass that arm to `tell`, and the policy flips a separate coin. With ``mode="panel"`` each
      round has two different arms, unless only one is present; `in_panel` describes the effect on
      the guarantee. `configure` sets the mode, too.
    - **Changing options**: `retire` removes an arm; `admit` restores it or adds a new one. An arm
      outside `present` is never chosen. A policy without this feature raises `DriftduelError`.
    - `best` returns the present arm to deploy now, or None if the policy has no best guess. The
      call has no side effects.
    - `save` writes the complete state, including pending duels, as an NPZ file without pickles. A
      policy restored by `load` continues to the bit.
    - `info` returns an object for monitoring: leader, challengers, distance to an alarm, prior
      knowledge, pending duels. The call has no side effects.
    - All random numbers come from the generator passed as an argument. A policy has no access to
      the world.
    - Instances are not thread-safe: use one instance per thread, or hold a lock around each call.

    A policy in plain Python subclasses this class and implements `choose` and `learn`, and also
    `get_state` and `set_state` if it supports `save`. A compiled policy derives from
    `KernelPolicy`. docs/guide/own-policy.md has an example of both.

    Parameters
    ----------
    arms
        The number of arms K, at least 2. Every policy has this parameter and `rng`; further
        parameters are documented by each class.
    rng
        The generator of all random numbers of this instance.

    Raises
    ------
    DriftduelError
        If `arms` is not an integer of at least 2.
    """

    name: ClassVar[str] = ""
    """The registered name; set by the registry."""
    in_order: ClassVar[bool] = False
    """Whether answers can be learned in the order of asking only."""
    unanswered: bool = False
    """Whether `learn` is also called for tied and forgotten duels, with the value -1."""
    any_duel: bool = False
    """Whether `learn` accepts duels that `choose` did not return."""
    ties: ClassVar[str] = "skip"
    """The default for ties: ``skip``, for algorithms that count wins or play matches; or ``coin``,
    for weighted estimates, which need a result in each round."""
    prior_knowledge: ClassVar[tuple[str, ...]] = ()
    """Names of the parameters that need knowledge of the world beyond the number of arms."""
    alerts: ClassVar[bool] = False
    """Whether restarts are alarms raised by the data, not by a clock or an oracle."""
    draws: ClassVar[bool] = True
    """Whether the policy draws random numbers; if False, all seeds give the same duels."""
    bounded_memory: ClassVar[bool] = True
    """Whether memory use is independent of the number of rounds."""
    easy_rounds: ClassVar[int] = 20_000
    """Test parameter: the winner of an easy world of 3 arms is found after half of these rounds."""
    easy_regret: ClassVar[str] = "dynamic"
    """Test parameter: the kind of regret that the policy minimises, or its benchmark."""
    guarantee: ClassVar[str] = "none known"
    """The proven guarantee, in a few words."""
    in_panel: ClassVar[str] = COIN
    """The effect of panel mode on the guarantee."""
    source: ClassVar[str] = ""
    """Reference: authors, title, venue, year."""
    confidence: ClassVar[str] = ""
    """Verification: the comparison with the authors' text or code, and known differences."""
    request_shape: RequestShape = RequestShape()
    """The shape of the request that `ask` takes; without features it takes none."""
    request: tuple[float, ...] = ()
    """The scaled request of the duel that `choose` chooses now, for policies in plain Python."""
    slate: int = 2
    """The largest number m of arms shown. The notes of a policy with m > 2 end with the m - 2 other
    arms, -1 where there is none; `learn` gets the code of the answer (`policies.slates`)."""
    parameters: dict[str, Any]
    """Constructor arguments by name; filled by the decorator of the registry."""

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
        self,
        *,
        order: str | None = None,
        ties: str | None = None,
        mode: str | None = None,
        prices: ArrayLike | None = None,
    ) -> None:
        """Set the order of learning, ties, the mode and prices, before the first duel.

        The default of each argument is None, which keeps the present value.

        Parameters
        ----------
        order
            ``asked``: learn in the order of the rounds. Needed for people and judges, because their
            delay may depend on their preferences. ``arrival``: learn each answer immediately. A
            policy with `in_order` supports ``asked`` only.
        ties
            ``skip``: a tie is ignored. ``coin``: a fair coin picks the winner of a tie.
        mode
            ``serve``: an arm may be shown alone. ``panel``: always two different arms.
        prices
            (K,) the price of each arm in log-odds, for policies that take prices; `set_prices`
            changes them at any time.

        Raises
        ------
        DriftduelError
            If a duel was already chosen, or a value is unknown or unsupported.
        """
        if self.ledger.asked:
            raise DriftduelError(
                f"order, ties and mode are set before the first duel; {self.ledger.asked} duels "
                f"were already chosen."
            )
        settings = (("order", order, ORDERS), ("ties", ties, TIES), ("mode", mode, MODES))
        for key, value, known in settings:
            if value is not None and value not in known:
                raise DriftduelError(f"{key}={value!r} must be {' or '.join(known)}.")
        if self.in_order and order == "arrival":
            raise DriftduelError(
                f"order='arrival' is not supported by {self.name!r}, which learns in the order of "
                f"asking; pass order='asked'."
            )
        self.ledger.order = order or self.ledger.order
        self.ledger.ties = ties or self.ledger.ties
        if mode not in (None, self._mode):
            self._mode = str(mode)
            self._enter_mode()
        if prices is not None:
            self.set_prices(prices)

    def set_prices(self, prices: ArrayLike) -> None:
        """Replace the prices of all arms, which choices subtract; prices are never learned.

        Parameters
        ----------
        prices
            (K,) log-odds.

        Raises
        ------
        DriftduelError
            If the policy takes no prices, or they are not K finite numbers.
        """
        raise DriftduelError(
            f"policy {self.name!r} takes no prices; use 'adaptive-logistic', with or without "
            f"features."
        )

    def scaled(self, request: Any) -> ScaledRequest:
        """Return a request as a vector of length 1, or raise if this policy cannot take it."""
        shape = self.request_shape
        if request is None and shape.features:
            raise DriftduelError(
                f"policy {self.name!r} was built with {shape}; pass the request, a list of "
                f"{shape.features} numbers."
            )
        if not shape.features and request is not None and type(request) is not ScaledRequest:
            raise DriftduelError(
                f"policy {self.name!r} takes no request; build it with features=, the number of "
                f"numbers of a request, if it has that key."
            )
        return shape.scale(() if request is None else request)

    def _enter_mode(self) -> None:
        """Install `choose` and `learn` of the present mode; calling it twice is harmless."""
        in_place = "choose" in vars(self)
        if self._mode == "panel" and not in_place:
            self._stand_ins = PanelAdapter(self)
            self.choose = self._stand_ins.choose  # type: ignore[method-assign]
            self.learn = self._stand_ins.learn  # type: ignore[method-assign]
            self.unanswered = True
        elif self._mode == "serve" and in_place:
            del self.choose, self.learn
            self.unanswered = self._stand_ins.unanswered

    @property
    def mode(self) -> str:
        """The display mode, ``serve`` (default) or ``panel``; set by `configure`."""
        return self._mode

    @property
    def arms(self) -> int:
        """The number of arms K."""
        return self._arms

    @property
    def restarts(self) -> list[int]:
        """Ascending list of rounds after which the learned state was reset."""
        return self.ledger.restarts

    @abstractmethod
    def choose(self, t: int) -> tuple[int, int, tuple[float, ...]]:
        """Return the arms of round `t` (from 1) and the notes to pass to `learn`."""

    @abstractmethod
    def learn(self, t: int, first: int, second: int, won: int, notes: tuple[float, ...]) -> int:
        """Learn a result: `first` won (1), lost (0), or there is no result (-1).

        Parameters
        ----------
        t, first, second
            The round and the two arms of the duel.
        won
            1, 0 or -1; the value -1 occurs only if `unanswered` is True. The code of a slate.
        notes
            The numbers that `choose` returned for round `t`.

        Returns
        -------
        int
            `RESTARTED` if the learned state was reset, else 0.
        """

    def ask(self, request: Any = None) -> Duel:
        """Choose and return the next duel.

        Parameters
        ----------
        request
            The numbers of the request, for a policy that was built with features; None (default)
            for all others. The notes of the duel end with the scaled request.

        Raises
        ------
        DriftduelError
            If the request is not valid, or `choose` returns an arm outside 0 to K - 1.
        """
        if request is not None or self.request_shape.features:
            self._take_request(self.scaled(request))
        t = self.ledger.asked + 1
        first, second, notes = self.choose(t)
        if not (0 <= first < self._arms and 0 <= second < self._arms):
            raise no_such_arms(self, first, second, t)
        return self.ledger.enter(first, second, notes, self.others_of(notes))

    def others_of(self, notes: Sequence[float]) -> tuple[int, ...]:
        """Return the arms of a slate besides the first two, from the notes of its duel."""
        if self.slate == 2:
            return ()
        return tuple(int(arm) for arm in notes[len(notes) - self.slate + 2 :] if arm >= 0)

    def _take_request(self, scaled: ScaledRequest) -> None:
        """Make a scaled request available to `choose`."""
        self.request = scaled

    @overload
    def tell(self, duel: Duel, winner: int | None) -> None: ...

    @overload
    def tell(self, duel: Duel, *, ranking: Sequence[int]) -> None: ...

    def tell(self, duel: Duel, winner: Any = ..., *, ranking: Sequence[int] | None = None) -> None:
        """Learn the winner of a pending duel, or a tie; of a slate also a ranking.

        Parameters
        ----------
        duel
            A pending `Duel` from `ask`, or the list that JSON makes of it.
        winner
            One of ``duel.shown``, or None for a tie: nothing was picked.
        ranking
            Instead of `winner`, arms of ``duel.shown``, the best first; it need not have all. Arms
            that it leaves out are below those that it has, and not ordered among themselves.

        Raises
        ------
        DriftduelError
            If the duel is not pending or `winner` is not one of its arms. State is unchanged.
        """
        duel = Duel.of(duel)
        if (winner is ...) == (ranking is None):
            raise DriftduelError("pass the winner of the duel, or ranking=, not both or neither.")
        if ranking is None:
            self._settle(duel, self.ledger.answer(duel, winner))
        else:
            self._settle(duel, self.ledger.answer_ranking(duel, ranking))

    def tell_first_won(self, duel: Duel, won: int) -> None:
        """Learn the result of a pending duel as a number: 1 (first arm won), 0 or -1 (no winner).

        Unlike `tell`, this method flips no coin: the caller decides self-duels and ties. The value
        -1 is skipped for each setting of `ties`. A slate takes any code of
        `driftduel.policies.slates`.

        Raises
        ------
        DriftduelError
            If the duel is not pending or `won` has another value.
        """
        duel = Duel.of(duel)
        if won not in (1, 0, UNANSWERED) and not (duel.others and is_code(won, len(duel.shown))):
            raise DriftduelError(
                f"won={won!r} must be 1 (the first arm won), 0 (it lost) or -1 (no result)."
            )
        self._settle(self.ledger.take(duel), int(won))

    def forget(self, duel: Duel) -> None:
        """Drop a pending duel without a result; raise DriftduelError if it is not pending."""
        self._settle(self.ledger.take(Duel.of(duel)), UNANSWERED)

    def _settle(self, duel: Duel, won: int) -> None:
        ledger = self.ledger
        for (first, second, t, notes, _), result in ledger.settle(duel, won):
            if result == UNANSWERED and not self.unanswered:
                continue
            if self.learn(t, first, second, result, notes) & RESTARTED:
                ledger.restarts.append(t)

    @property
    def present(self) -> tuple[int, ...]:
        """The arms that may be chosen now, ascending."""
        return tuple(range(self._arms))

    @property
    def can_change(self) -> bool:
        """Whether the set of arms can change: `retire` and `admit` are supported."""
        return type(self).change is not Policy.change

    def retire(self, arm: int) -> None:
        """Remove an arm: it is not chosen until it is admitted again.

        Pending duels of this arm may still be answered.

        Raises
        ------
        DriftduelError
            If the arm is absent or the only one present, or the policy has a fixed set of arms.
        """
        here = self.present
        if arm not in here:
            raise DriftduelError(f"arm {arm!r} cannot be retired; present are {listed(here)}.")
        if len(here) == 1:
            raise DriftduelError(f"arm {arm} is the only one present and cannot be retired.")
        self.change(int(arm), here=False)

    def admit(self, arm: int | None = None) -> int:
        """Add a new arm or restore a retired one; return its index.

        Parameters
        ----------
        arm
            The index of a retired arm, or None (default) for a new arm with the index K.

        Raises
        ------
        DriftduelError
            If the arm was not retired, or the policy has a fixed set of arms.
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
        """Update the state for an arm that leaves (`here` False) or arrives (True).

        `retire` and `admit` validate the arguments before the call. A policy in plain Python with
        a changing set of arms overrides this method and `present`.
        """
        raise self._cannot("remove or add options")

    def widen(self) -> None:
        """Extend the state by one arm, which is absent until a call of `change`."""
        raise self._cannot("add an option beyond its number of arms")

    def _cannot(self, what: str) -> DriftduelError:
        return DriftduelError(
            f"policy {self.name!r} cannot {what}; use 'anew-{self.name}', which restarts it at "
            f"every change."
        )

    def add_past_vote(
        self, first: int, second: int, winner: int | None, weight: float = 1.0
    ) -> None:
        """Learn from a vote on a pair that this policy did not choose, such as a past vote.

        Parameters
        ----------
        first, second
            The two arms that were compared.
        winner
            One of the two, or None for a tie.
        weight
            The number of votes that this one stands for, above 0. Default 1.

        Raises
        ------
        DriftduelError
            If the vote is invalid or the policy learns from duels of `ask` only.
        """
        raise DriftduelError(f"policy {self.name!r} can learn only from duels that `ask` returned.")

    def check_vote(self, first: int, second: int, winner: int | None, weight: float) -> None:
        """Raise DriftduelError unless arms, winner and weight form a valid vote."""
        for arm in (first, second):
            if isinstance(arm, bool) or arm not in range(self.arms):
                raise DriftduelError(f"arm {arm!r} does not exist; arms are 0 to {self.arms - 1}.")
        if first == second or winner not in (first, second, None):
            raise DriftduelError(
                f"winner={winner!r} cannot have won a vote between {first} and {second}; it must "
                f"be one of two different arms, or None for a tie."
            )
        if not (0 < weight <= MOST):
            raise DriftduelError(f"weight={weight!r} must be a number above 0.")

    def warm(self) -> None:  # noqa: B027
        """Compile the kernels of `ask` and `tell`, if any, ahead of the first call."""

    def best(self) -> int | None:
        """Return the arm to deploy now, or None if the policy has no best guess."""
        return None

    def declared(self) -> int | None:
        """Return the arm declared best with the policy's stated confidence, or None so far."""
        return None

    def contest(self) -> Contest:
        """Return the leader's round, challengers and shares, for `info`; without side effects."""
        return Contest()

    def false_alarms_at_most(self) -> float | None:
        """Return an upper bound on the expected number of false alarms so far, or None."""
        return None

    def stage(self) -> Stage:
        """Return the phase of the algorithm, for `info` and traces; without side effects."""
        return Stage()

    def info(self) -> Info:
        """Return a snapshot of the policy's status for display or monitoring."""
        ledger, parameters = self.ledger, self.parameters
        return Info(
            policy=self.name,
            rounds=ledger.asked,
            restarts=list(self.restarts),
            leader=self.best(),
            alarms=len(self.restarts) if self.alerts else None,
            prior_knowledge={
                key: parameters[key]
                for key in self.prior_knowledge
                if parameters.get(key) is not None
            },
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
        """Return the learned state as a dict of numeric arrays; keys are the array names."""
        raise DriftduelError(f"policy {self.name!r} cannot be saved: it has no get_state.")

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Replace the learned state by the result of `get_state`, after validation."""
        raise DriftduelError(f"policy {self.name!r} cannot be loaded: it has no set_state.")

    def check_duel(self, duel: Duel) -> None:
        """Raise DriftduelError if a duel from a file cannot be a result of `ask`."""
        arms = {duel.first, duel.second, *duel.others}
        different = len(arms) == 2 + len(duel.others) or (duel.alone and not duel.others)
        known = duel.others == self.others_of(duel.notes)
        if not (different and known and all(0 <= arm < self._arms for arm in arms)):
            raise DriftduelError(f"it has a duel of arms {duel.first} and {duel.second}.")

    @property
    def spec(self) -> str:
        """The spec string: the name, and the parameters with a value other than the default."""
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
    """The compiled functions of a policy.

    All arguments called `state` are the policy's record (a NamedTuple of arrays); kernels modify
    its arrays in place. An optional kernel has the default None.

    ``ask(state, rng, t, notes) -> (first, second)``
        Choose the arms of round `t`. Writes the duel's notes into the array `notes` and draws
        random numbers with ``driftduel.policies.uniform(rng)``.
    ``tell(state, t, first, second, won, notes) -> flags``
        Learn a result. Returns `GROW`, `RESTARTED`, their sum or 0.
    ``reset(state)``
        Reset the learned state; without it, wrappers cannot restart the policy.
    ``best_guess(state) -> arm``
        Return the present best guess, in any phase and also before the first duel, when any arm is
        valid. It modifies nothing and draws nothing, so callers may use it at any time.
    ``any_duel``
        If True, `tell` accepts duels that `ask` did not choose, with arbitrary values in `notes`.
        If False it must not be called with them: a match or a queue would count them as its own.
    ``unanswered``
        If True, `tell` is also called with ``won == -1``: a tie or a forgotten duel.
    ``change(state, rng, t, arm, here)`` and ``present(state, arm) -> 0 or 1``
        `change` is called before round `t` if an arm leaves (0) or arrives (1); `present` returns
        whether an arm is present. A policy defines both or neither (fixed set of arms). `ask`
        never chooses an absent arm.
    ``add_past_vote(state, winner, loser, weight)``
        Count a vote on a pair that the policy did not choose.
    ``panel``
        Another instance of this class with the same notes, used in panel mode (default: see
        `driftduel.policies.modes`). It shares the record unless `_enter_mode` replaces it.
    ``request``
        If True, `ask` reads the scaled request of a policy with features from the end of `notes`,
        and leaves it there.
    ``declared(state) -> arm``
        Return the arm declared best with the policy's stated confidence, or -1 so far.
    """

    ask: Callable[..., Any]
    tell: Callable[..., Any]
    reset: Any = None
    best_guess: Any = None
    any_duel: bool = False
    unanswered: bool = False
    change: Any = None
    present: Any = None
    add_past_vote: Any = None
    panel: Any = None
    declared: Any = None
    request: bool = False


class KernelPolicy(Policy):
    """The base class of policies with compiled kernels over a record of arrays.

    `ask` and `tell` of this class and the compiled loop of `driftduel.games` call the same
    kernels, so there is one implementation per policy. A subclass sets the class attributes
    `kernels` and `notes`, and assigns its initial `state`, a NamedTuple of arrays. The annotation
    of each field declares the range of its values (`driftduel.policies.fields`), because a kernel
    does not check array indices: values of a damaged file would cause reads out of bounds. A `tell`
    kernel that is about to exceed an array returns `GROW`; the method `grow` then replaces the
    state by a larger one.
    """

    kernels: ClassVar[Kernels]
    notes: ClassVar[tuple[Rule, ...]] = ()
    """One rule per note: the range of each number that a duel carries from `ask` to `tell`."""
    rules: ClassVar[Mapping[str, Rule]] = {}
    """Rules that override those of the record, for records shared with another policy."""
    transient: ClassVar[tuple[str, ...]] = ()
    """Fields besides the counts `wins` that do not exclude an arm after the answers behind them
    have expired: the current pass over the arms, a tie-break. If all other fields are scratch or
    constant, a window or a discount on `wins` forgets completely; see `driftduel.testing`."""
    state: Any

    def __init__(self, arms: int, rng: np.random.Generator) -> None:
        super().__init__(arms, rng)
        self.rng_address = address_of(rng)
        self.scratch = np.zeros(len(self.notes))
        self.unanswered, self.any_duel = self.kernels.unanswered, self.kernels.any_duel
        self._served: Any = None  # kernels, notes and draws in serve mode
        self._warm: Any = None  # the state object for which `_ask` and `_tell` were compiled
        self._guess_state: Any = None  # likewise for `_best_guess`

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes to copy, without compiled code and the generator's address."""
        own = ("rng_address", "_ask", "_tell", "_best_guess")
        kept = {name: value for name, value in vars(self).items() if name not in own}
        return {**kept, "_warm": None, "_guess_state": None}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        self.rng_address = address_of(self.rng)

    def _enter_mode(self) -> None:
        """Install the kernels of the present mode; both modes share the record."""
        if self._served is None:
            self._served = (self.kernels, self.notes, self.draws)
        kernels, notes, draws = self._served
        if self._mode == "panel" and kernels.panel is not None:
            kernels = kernels.panel
        elif self._mode == "panel":
            kernels = wrap_for_panel(kernels, *count_arms(self))
            notes, draws = (STAND_IN, *notes), draws or self.in_panel != SAME
        self.kernels, self.notes, self.draws = kernels, notes, draws  # type: ignore[misc]
        self.scratch = np.zeros(len(self.notes))
        self.unanswered, self.any_duel = self.kernels.unanswered, self.kernels.any_duel
        self._warm = self._guess_state = None

    def warm(self) -> None:
        """Compile the kernels of `ask` and `tell` ahead of the first call."""
        ask, tell = self.kernels.ask, self.kernels.tell
        self._ask = entry(ask, self.state, self.rng_address, 0, self.scratch)
        self._tell = entry(tell, self.state, 0, 0, 0, 0, self.scratch)
        self._warm = self.state

    def _take_request(self, scaled: ScaledRequest) -> None:
        """Write a scaled request to the end of the notes, where the kernel reads it."""
        self.scratch[len(self.scratch) - len(scaled) :] = scaled

    def choose(self, t: int) -> tuple[int, int, tuple[float, ...]]:
        """Return the arms of round `t` (from 1) and the notes to pass to `learn`."""
        if self._warm is not self.state:
            self.warm()
        first, second = self._ask(self.state, self.rng_address, t, self.scratch)
        return int(first), int(second), tuple(self.scratch.tolist()) if self.notes else ()

    def learn(self, t: int, first: int, second: int, won: int, notes: tuple[float, ...]) -> int:
        """Learn a result: `first` won (1), lost (0), or there is no result (-1)."""
        if self._warm is not self.state:
            self.warm()
        if notes:
            self.scratch[:] = notes
        flags: int = self._tell(self.state, t, first, second, won, self.scratch)
        if flags & GROW:
            self.grow()
        return flags

    def best(self) -> int | None:
        """Return the arm to deploy now, or None if the policy has no kernel `best_guess`.

        The call has no side effects. Before the first duel any present arm is a valid result.
        """
        if self.kernels.best_guess is None:
            return None
        if self._guess_state is not self.state:
            self._best_guess = entry(self.kernels.best_guess, self.state)
            self._guess_state = self.state
        return int(self._best_guess(self.state))

    def declared(self) -> int | None:
        """Return the arm declared best with the policy's stated confidence, or None so far."""
        kernel = self.kernels.declared
        arm = -1 if kernel is None else int(getattr(kernel, "py_func", kernel)(self.state))
        return None if arm < 0 else arm

    @property
    def present(self) -> tuple[int, ...]:
        """The arms that may be chosen now, ascending."""
        present = self.kernels.present
        if present is None:
            return super().present
        # The Python function is faster here than a call into compiled code from the interpreter.
        present = getattr(present, "py_func", present)
        return tuple(arm for arm in range(self.arms) if present(self.state, arm))

    @property
    def can_change(self) -> bool:
        """Whether the set of arms can change."""
        return self.kernels.change is not None

    def change(self, arm: int, *, here: bool) -> None:
        """Call the kernel `change` for an arm that leaves or arrives."""
        change = self.kernels.change
        if change is None:
            super().change(arm, here=here)
        change(self.state, self.rng_address, self.ledger.asked + 1, arm, int(here))

    def widen(self) -> None:
        """Extend the record by one arm, which is absent until a call of `change`."""
        if self.kernels.change is None:
            super().widen()
        fresh = self.wider()
        state = self.enlarge_state(self.state, fresh.state)
        # Validate before the assignment: an exception must leave this instance unchanged.
        verify(fresh, state, self.ledger.asked)
        self.state, self._arms = state, fresh.arms

    def wider(self) -> "KernelPolicy":
        """Return a new policy with one more arm and the same parameters; no array is shared."""
        return type(self)(self._arms + 1, np.random.default_rng(0), **self.parameters)

    def enlarge_state(self, state: Any, fresh: Any) -> Any:
        """Return the record `fresh` (K + 1 arms) filled with the values of `state` (K arms).

        The rule of each field defines the copy; subclasses extend this for dependent fields.
        """
        return with_arm(self, state, fresh)

    def add_past_vote(
        self, first: int, second: int, winner: int | None, weight: float = 1.0
    ) -> None:
        """Count a vote on a pair that this policy did not choose; a tie is half a win for each."""
        add_past_vote = self.kernels.add_past_vote
        if add_past_vote is None:
            super().add_past_vote(first, second, winner, weight)
        self.check_vote(first, second, winner, weight)
        if winner is None:
            add_past_vote(self.state, first, second, 0.5 * weight)
            add_past_vote(self.state, second, first, 0.5 * weight)
        else:
            add_past_vote(self.state, winner, first + second - winner, float(weight))

    def grow(self) -> None:
        """Replace the state by a larger one; called after a kernel has returned `GROW`."""
        raise NotImplementedError

    def advance_to(self, t: int) -> None:
        """Record that a compiled loop chose and answered all duels up to round `t`."""
        self.ledger.advance_to(t)

    def get_state(self) -> Mapping[str, NDArray[Any]]:
        """Return the learned state as a dict of numeric arrays; keys are the array names."""
        return dict(_flatten(self.state))

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Replace the learned state by the result of `get_state`, after validation.

        Raises
        ------
        DriftduelError
            If names, types, shapes or values do not fit this policy. The state is unchanged then.
        """
        current = dict(_flatten(self.state))
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
        taken = _unflatten(self.state, state)
        verify(self, taken, self.ledger.asked)
        self.state = taken

    def check_duel(self, duel: Duel) -> None:
        """Raise DriftduelError if a duel from a file has invalid arms or notes."""
        super().check_duel(duel)
        verify_notes(self, duel.notes, self.ledger.asked)

    def check_state(self, state: Any) -> None:
        """Raise DriftduelError if fields are inconsistent with each other; override to use.

        Each field has already passed the check of its rule.
        """

    def require(self, sound: Any) -> None:
        """Raise DriftduelError unless a condition on a saved state is true."""
        if not sound:
            raise DriftduelError(f"the saved state of {self.name!r} is inconsistent.")

    def rounds_inside(self, state: Any, rounds: int) -> int:
        """Return the number of rounds of the wrapped policy, if there is one."""
        return rounds


def _flatten(state: Any, prefix: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield (name, array) for each array of a record, including a wrapped policy's record.

    A structured array is split into one array per field: only plain numbers are written to files.
    """
    for name, value in state._asdict().items():
        if hasattr(value, "_asdict"):
            yield from _flatten(value, f"{prefix}{name}.")
        elif value.dtype.names:
            yield from ((f"{prefix}{name}.{field}", value[field]) for field in value.dtype.names)
        else:
            yield prefix + name, value


def _unflatten(like: Any, arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> Any:
    """Return a record with the structure of `like` and the values of named arrays."""
    values = {}
    for name, value in like._asdict().items():
        if hasattr(value, "_asdict"):
            values[name] = _unflatten(value, arrays, f"{prefix}{name}.")
        elif value.dtype.names:
            values[name] = _joined(value, arrays, f"{prefix}{name}.")
        else:
            values[name] = np.array(arrays[prefix + name], order="C")
    return type(like)(**values)


def _joined(like: NDArray[Any], arrays: Mapping[str, NDArray[Any]], prefix: str) -> NDArray[Any]:
    """Return a structured array with the type of `like` from one array per field."""
    names = like.dtype.names or ()
    shape = arrays[prefix + names[0]].shape  # not that of `like` if the policy can grow
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
    policy: Policy,
    first: int,
    second: int,
    t: int,
    here: NDArray[np.bool_] | None = None,
    others: Sequence[int] = (),
) -> DriftduelError:
    """Return the error for a choice of absent arms; `here` is the (K,) mask of present arms.

    It is also the error for a slate that repeats an arm; `others` are its other arms.
    """
    there = f"arms are 0 to {policy.arms - 1}"
    if here is not None and here.size:
        there = f"present are {listed(np.flatnonzero(here).tolist())}"
    return DriftduelError(
        f"policy {policy.name!r} chose arms {listed((first, second, *others))} in round {t}; "
        f"{there}{', each at most once in a slate' if others else ''}."
    )


def need_plain_duels(inside: Policy, name: str) -> None:
    """Raise if a policy with requests or slates would be wrapped: wrappers do not pass them on."""
    if inside.request_shape.features:
        raise DriftduelError(
            f"policy {name!r} passes no requests on; leave out features=, or use {inside.name!r}."
        )
    if inside.slate > 2:
        raise DriftduelError(
            f"policy {name!r} passes no slates on; leave out slate=, or use {inside.name!r}."
        )


def generator_state(rng: np.random.Generator) -> str:
    """Return a generator's state as JSON; its integers exceed 64 bits, so no array fits."""
    return json.dumps(rng.bit_generator.state)


def restore_generator(text: str) -> np.random.Generator:
    """Return a generator with a state that `generator_state` wrote."""
    try:
        state = json.loads(text)
        if state["bit_generator"] != "PCG64":
            raise ValueError
        bit_generator = np.random.PCG64()
        bit_generator.state = state
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
        raise DriftduelError("the saved random state is not a state of numpy's PCG64.") from None
    return np.random.Generator(bit_generator)
