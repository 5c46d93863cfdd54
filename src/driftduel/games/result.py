"""What came of one game."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from driftduel._showing import NO_BREAK, Fact, as_html, as_text
from driftduel.games.restarts import needless_restarts
from driftduel.games.scene import Scene
from driftduel.policies import Policy
from driftduel.policies.info import Stage
from driftduel.regret import kinds_of
from driftduel.wording import counted, number, short, whole
from driftduel.worlds import World

__all__ = ["Play"]


@dataclass(frozen=True, repr=False)
class Play:
    """What came of one game."""

    policy: Policy
    """The policy as the game left it."""
    world: World
    seed: int
    benchmark: str
    """What its regret is against, one of `driftduel.regret.BENCHMARKS`."""
    at: NDArray[np.int64]
    """Rounds up to the last one played, log-spaced unless `play` was told otherwise."""
    regret: dict[str, NDArray[np.float64]]
    """Regret summed up to each of them, by kind: the four that `driftduel.regret.kinds_of` has for
    the benchmark, dynamic, weak, binary-weak and binary-strong for ``condorcet``. A game for
    ``exploitability`` has counted what von-neumann, borda and copeland take, and has them too."""
    plays: NDArray[np.int64]
    """(len(at), K) how often each arm was in a duel up to then; twice for one with itself."""
    restarts: list[int]
    """Rounds after whose answer, which may have come later, the policy started anew."""
    switches: list[int]
    """Rounds whose Condorcet winner is not that of the round before. With the benchmark
    ``exploitability``: in which a phase begins; with the others: in which other arms than before
    lose nothing. For ``von-neumann`` that is the same wherever there is a winner."""
    rounds: int
    """Rounds played: all of the world's, or fewer when the game was stopped."""
    seconds: float
    """Wall-clock time, compilation aside."""
    unknown: int = 0
    """Duels whose answer nobody knows; the policy was told nothing of them."""
    scene: Scene = field(default_factory=Scene)
    """What the world was like: who was best when, how many arms were there, how many duels tie."""
    stages: list[tuple[int, Stage]] = field(default_factory=list)
    """Where the policy stood after the rounds that `play` was asked to look at it."""

    @property
    def finished(self) -> bool:
        """Tell whether all rounds were played."""
        return self.rounds == self.world.rounds

    @property
    def curve(self) -> NDArray[np.float64]:
        """The regret that its benchmark stands for, ``dynamic`` for ``condorcet``, up to `at`."""
        return self.regret[kinds_of(self.benchmark)[0]]

    @property
    def total(self) -> float:
        """The same of all rounds played."""
        return float(self.curve[-1]) if self.rounds else 0.0

    @property
    def rounds_per_second(self) -> float:
        """How fast it went."""
        return self.rounds / self.seconds if self.seconds > 0 else 0.0

    @property
    def needless(self) -> int:
        """How many restarts no change explains: the best arm was the same since the one before."""
        return needless_restarts(self.restarts, self.switches)

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
