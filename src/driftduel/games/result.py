"""The result of one game."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.display import NO_BREAK, Fact, as_html, as_text
from driftduel._internal.wording import counted, number, short, whole
from driftduel.games.restarts import count_false_alarms
from driftduel.games.scene import GameScene
from driftduel.policies import Policy, Stage
from driftduel.regret import kinds_of
from driftduel.worlds import World

__all__ = ["Play"]


@dataclass(frozen=True, repr=False)
class Play:
    """The result of one game."""

    policy: Policy
    """The policy object after the game."""
    world: World
    seed: int
    benchmark: str
    """The benchmark of regret, one of `driftduel.regret.BENCHMARKS`."""
    at: NDArray[np.int64]
    """Rounds up to the last one played, log-spaced by default."""
    regret: dict[str, NDArray[np.float64]]
    """Cumulative regret at each of them, by kind: the four of the function
    `driftduel.regret.kinds_of` for the benchmark, by default dynamic, weak, binary-weak and
    binary-strong. A game with ``exploitability`` also has von-neumann, borda and copeland."""
    plays: NDArray[np.int64]
    """(len(at), K) the number of duels of each arm up to each of them; a duel of an arm with itself
    counts twice."""
    restarts: list[int]
    """Rounds with an outcome, possibly delayed, after which the policy was reset."""
    switches: list[int]
    """Rounds with a change of the Condorcet winner. With the benchmark ``exploitability``: first
    rounds of phases; with the others: rounds with a change of the arms with loss 0. For
    ``von-neumann``
    both definitions agree if there is a winner."""
    rounds: int
    """The number of played rounds: all rounds of the world, or fewer if the game was stopped."""
    seconds: float
    """Wall-clock time in seconds, without compilation."""
    unknown: int = 0
    """The number of duels with a missing outcome; the policy got no feedback."""
    scene: GameScene = field(default_factory=GameScene)
    """A summary of the world: its winners, present arms and ties."""
    stages: list[tuple[int, Stage]] = field(default_factory=list)
    """The stages of the policy after the rounds in the argument `stages` of `play`."""

    categories: dict[str, tuple[float, int]] = field(default_factory=dict)
    """Regret and rounds of each category of requests, by name; empty if the world has none."""

    @property
    def finished(self) -> bool:
        """Return whether all rounds were played."""
        return self.rounds == self.world.rounds

    @property
    def curve(self) -> NDArray[np.float64]:
        """Cumulative regret of its benchmark at the rounds `at`; ``dynamic`` by default."""
        return self.regret[kinds_of(self.benchmark)[0]]

    @property
    def total(self) -> float:
        """The value of regret after all played rounds."""
        return float(self.curve[-1]) if self.rounds else 0.0

    @property
    def rounds_per_second(self) -> float:
        """The speed of the game."""
        return self.rounds / self.seconds if self.seconds > 0 else 0.0

    @property
    def needless(self) -> int:
        """The number of false alarms: restarts without a change of the best arm since the last."""
        return count_false_alarms(self.restarts, self.switches)

    def __repr__(self) -> str:
        return as_text(self._title(), self._facts())

    def _repr_html_(self) -> str:
        return as_html(self._title(), self._facts())

    def _title(self) -> str:
        return f"{self.policy.spec} on {self.world.spec or repr(self.world)}"

    def _facts(self) -> list[Fact]:
        rounds = whole(self.rounds)
        if not self.finished:
            rounds += f" of {whole(self.world.rounds)}, then stopped"
        kinds = self.regret.items() if self.rounds else ()
        regret = [f"{kind}{NO_BREAK}{number(curve[-1])}" for kind, curve in kinds]
        restarts = whole(len(self.restarts))
        if self.restarts:
            restarts += f", {whole(self.needless) if self.needless else 'none'} of them needless"
        facts = [
            ("seed", str(self.seed)),
            ("rounds", rounds),
            ("regret", ", ".join(regret)),
            ("changes", whole(len(self.switches))),
            ("restarts", restarts),
            ("speed", f"{short(self.rounds_per_second)} rounds a second"),
        ]
        if self.unknown:
            facts.append(("unknown", f"{counted(self.unknown, 'duel')} without an answer"))
        return facts
