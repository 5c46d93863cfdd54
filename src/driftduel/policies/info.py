"""What a person wants to know of a policy that runs: who leads, who challenges, what is out."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from driftduel._showing import as_html
from driftduel.wording import counted, share

__all__ = ["Challenger", "Contest", "Info", "Stage", "nearest_first", "of_pairs"]

_NAMED = 4


class Challenger(NamedTuple):
    """An arm that may take over, or whose duels may raise an alarm."""

    arm: int
    share: float
    """How much there is of what it takes, from 0 to 1."""


class Contest(NamedTuple):
    """How firmly the leader leads; None where a policy has no such thing."""

    since: int | None = None
    """The round after whose answer, or in which, the leader was crowned."""
    challengers: tuple[Challenger, ...] | None = None
    """Who challenges it now, the nearest to success first."""
    shares: tuple[float, ...] | None = None
    """How often each arm is to be shown, if a mixture of arms leads."""

    def later(self, rounds: int) -> "Contest":
        """Return it as it is for somebody whose clock began so many rounds before."""
        return self._replace(since=None if self.since is None else self.since + rounds)


class Stage(NamedTuple):
    """Where an algorithm stands in its own course; None where it has no such thing."""

    active: tuple[int, ...] | None = None
    """Arms it draws from now."""
    good: tuple[int, ...] | None = None
    """Arms not yet eliminated since the last restart."""
    episode_start: int | None = None
    """First round since the last restart."""
    replays: tuple[tuple[int, int], ...] | None = None
    """Running replays as (start, end), outermost first."""

    def later(self, rounds: int) -> "Stage":
        """Return it as it is for somebody whose clock began so many rounds before."""
        start, replays = self.episode_start, self.replays
        return self._replace(
            episode_start=None if start is None else start + rounds,
            replays=replays and tuple((first + rounds, end + rounds) for first, end in replays),
        )


@dataclass(frozen=True)
class Info:
    """What one may want to look at while a policy runs; None where it has no such thing.

    Printed, it is a few lines of English.
    """

    rounds: int
    """Duels asked for so far."""
    restarts: list[int]
    """Rounds after whose answer the policy forgot everything and started anew."""
    policy: str = ""
    """Its name."""
    leader: int | None = None
    """The arm to ship now: `Policy.best`."""
    since: int | None = None
    """The round after whose answer, or in which, the leader was crowned."""
    challengers: tuple[Challenger, ...] | None = None
    """Who challenges the leader now, the nearest to success first: each with the share, from 0 to
    1, of what it takes to take over or to raise an alarm."""
    shares: tuple[float, ...] | None = None
    """How often each arm is to be shown, if a mixture of arms leads; they add up to 1."""
    alarms: int | None = None
    """Restarts that the policy itself found necessary, and neither a clock nor an oracle."""
    told: Mapping[str, Any] = field(default_factory=dict)
    """What it had to be told beyond the number of arms, and was."""
    mode: str = "serve"
    """Whether an arm may be shown alone (serve), or two different ones always are (panel)."""
    order: str = "arrival"
    """The order in which it learns: that of asking, or that of arrival."""
    ties: str = "skip"
    """What a tie teaches it."""
    present: tuple[int, ...] = ()
    """The arms that may be asked for now."""
    open: int = 0
    """Duels that are out, without an answer."""
    held: int = 0
    """Answers that came and wait for their turn."""
    active: tuple[int, ...] | None = None
    """Arms it draws from now."""
    good: tuple[int, ...] | None = None
    """Arms not yet eliminated since the last restart."""
    episode_start: int | None = None
    """First round since the last restart."""
    replays: tuple[tuple[int, int], ...] | None = None
    """Running replays as (start, end), outermost first."""

    def _repr_html_(self) -> str:
        title, *lines = str(self).splitlines()
        facts = [line.partition(": ")[::2] if ": " in line else ("", line) for line in lines]
        return as_html(title, facts)

    def __str__(self) -> str:
        leader = "nobody leads" if self.leader is None else f"arm {self.leader} leads"
        since = "" if self.since is None else f", since round {self.since:,}"
        lines = [f"{self.policy or 'policy'} after {counted(self.rounds, 'duel')}: {leader}{since}"]
        if self.shares is not None and max(self.shares) < 1.0:
            ranked = nearest_first(
                (arm, part) for arm, part in enumerate(self.shares) if part > 0.0
            )
            lines.append(f"shares: {_named(ranked)}")
        if self.challengers is not None:
            lines.append(f"challengers: {_named(self.challengers) or 'nobody'}")
        kind = "restarts" if self.alarms is None else "alarms"
        last = f", the last after round {self.restarts[-1]:,}" if self.restarts else ""
        count = len(self.restarts) if self.alarms is None else self.alarms
        lines.append(f"{kind}: {count}{last}")
        told = ", ".join(f"{key}={value}" for key, value in self.told.items())
        lines.append(f"told: {told or 'nothing'}")
        order = "asking" if self.order == "asked" else "arrival"
        tie = "teaches nothing" if self.ties == "skip" else "is decided by a coin"
        lines.append(f"{self.mode} mode; learns in the order of {order}; a tie {tie}")
        out = f"{counted(self.open, 'duel')} out, {counted(self.held, 'answer')} held back"
        lines.append(f"arms: {', '.join(map(str, self.present))}; {out}")
        return "\n".join(lines)


def nearest_first(shares: Iterable[tuple[int, float]]) -> tuple[Challenger, ...]:
    """Return challengers, each with its largest share, in the order in which one looks at them."""
    largest: dict[int, float] = {}
    for arm, part in shares:
        largest[arm] = max(largest.get(arm, 0.0), min(1.0, float(part)))
    ranked = sorted(largest.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Challenger(arm, part) for arm, part in ranked)


def of_pairs(
    pairs: Iterable[tuple[int, int]], shares: Iterable[float], arms: Collection[int]
) -> tuple[Challenger, ...]:
    """Return `arms` as challengers, each as near as the nearest of the pairs that it is in."""
    both = ((arm, part) for pair, part in zip(pairs, shares, strict=True) for arm in pair)
    return nearest_first((arm, part) for arm, part in both if arm in arms)


def _named(arms: tuple[Challenger, ...]) -> str:
    named = [f"arm {rival.arm} ({share(rival.share)})" for rival in arms[:_NAMED]]
    return ", ".join(named + ["..."] * (len(arms) > _NAMED))
