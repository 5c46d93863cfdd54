"""Status of a running policy: leader, challengers, pending duels, phase of the algorithm."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from driftduel._internal.display import as_html
from driftduel._internal.wording import counted, share

__all__ = ["Challenger", "Contest", "Info", "Stage", "nearest_first", "of_pairs"]

_NAMED = 4


class Challenger(NamedTuple):
    """An arm that may become the leader, or may cause an alarm by its duels."""

    arm: int
    share: float
    """Fraction of the threshold that is reached, from 0 to 1."""


class Contest(NamedTuple):
    """The leader's position; None for fields that a policy does not have."""

    since: int | None = None
    """The round of the last change of the leader."""
    challengers: tuple[Challenger, ...] | None = None
    """Challengers of the leader, by decreasing share."""
    shares: tuple[float, ...] | None = None
    """(K,) probabilities of the arms, if the leader is a mixture of arms."""

    def shift_rounds(self, rounds: int) -> "Contest":
        """Return a copy with all round numbers increased by `rounds`."""
        return self._replace(since=None if self.since is None else self.since + rounds)


class Stage(NamedTuple):
    """The phase of an algorithm; None for fields that it does not have."""

    active: tuple[int, ...] | None = None
    """Arms that the policy chooses from now."""
    good: tuple[int, ...] | None = None
    """Arms not yet eliminated since the last restart."""
    episode_start: int | None = None
    """The first round after the last restart."""
    replays: tuple[tuple[int, int], ...] | None = None
    """Running replays as (start, end), outermost first."""

    def shift_rounds(self, rounds: int) -> "Stage":
        """Return a copy with all round numbers increased by `rounds`."""
        start, replays = self.episode_start, self.replays
        return self._replace(
            episode_start=None if start is None else start + rounds,
            replays=replays and tuple((first + rounds, end + rounds) for first, end in replays),
        )


@dataclass(frozen=True)
class Info:
    """The status of a policy as an immutable object; None for fields that a policy does not have.

    ``str(info)`` gives a summary of a few lines.
    """

    rounds: int
    """Number of duels chosen so far."""
    restarts: list[int]
    """Ascending list of rounds after which the learned state was reset."""
    policy: str = ""
    """The registered name."""
    leader: int | None = None
    """The arm to deploy now: `Policy.best`."""
    since: int | None = None
    """The round of the last change of the leader."""
    challengers: tuple[Challenger, ...] | None = None
    """Challengers of the leader by decreasing share: the fraction, from 0 to 1, of the threshold
    for a change of the leader or an alarm."""
    shares: tuple[float, ...] | None = None
    """(K,) probabilities of the arms, if the leader is a mixture of arms."""
    alarms: int | None = None
    """Number of restarts caused by the data; None if restarts come from a clock or an oracle."""
    prior_knowledge: Mapping[str, Any] = field(default_factory=dict)
    """The values of parameters that need knowledge of the world beyond the number of arms."""
    mode: str = "serve"
    """The display mode: ``serve`` or ``panel``."""
    order: str = "arrival"
    """The order of learning: ``asked`` or ``arrival``."""
    ties: str = "skip"
    """The handling of ties: ``skip`` or ``coin``."""
    present: tuple[int, ...] = ()
    """Indices of the arms that may be chosen now."""
    open: int = 0
    """Number of pending duels."""
    held: int = 0
    """Number of answers that are held until earlier duels are answered."""
    active: tuple[int, ...] | None = None
    """Arms that the policy chooses from now."""
    good: tuple[int, ...] | None = None
    """Arms not yet eliminated since the last restart."""
    episode_start: int | None = None
    """The first round after the last restart."""
    replays: tuple[tuple[int, int], ...] | None = None
    """Running replays as (start, end), outermost first."""

    def _repr_html_(self) -> str:
        title, *lines = str(self).splitlines()
        facts = [line.partition(": ")[::2] if ": " in line else ("", line) for line in lines]
        return as_html(title, facts)

    def __str__(self) -> str:
        leader = "no leader" if self.leader is None else f"arm {self.leader} leads"
        since = "" if self.since is None else f", since round {self.since:,}"
        lines = [f"{self.policy or 'policy'} after {counted(self.rounds, 'duel')}: {leader}{since}"]
        if self.shares is not None and max(self.shares) < 1.0:
            ranked = nearest_first(
                (arm, part) for arm, part in enumerate(self.shares) if part > 0.0
            )
            lines.append(f"shares: {_format_arms(ranked)}")
        if self.challengers is not None:
            lines.append(f"challengers: {_format_arms(self.challengers) or 'none'}")
        kind = "restarts" if self.alarms is None else "alarms"
        last = f", the last after round {self.restarts[-1]:,}" if self.restarts else ""
        count = len(self.restarts) if self.alarms is None else self.alarms
        lines.append(f"{kind}: {count}{last}")
        known = ", ".join(f"{key}={value}" for key, value in self.prior_knowledge.items())
        lines.append(f"prior knowledge: {known or 'none'}")
        order = "asking" if self.order == "asked" else "arrival"
        tie = "are ignored" if self.ties == "skip" else "are decided by a coin"
        lines.append(f"{self.mode} mode; learns in the order of {order}; ties {tie}")
        out = f"{counted(self.open, 'duel')} pending, {counted(self.held, 'answer')} held back"
        lines.append(f"arms: {', '.join(map(str, self.present))}; {out}")
        return "\n".join(lines)


def nearest_first(shares: Iterable[tuple[int, float]]) -> tuple[Challenger, ...]:
    """Return one challenger per arm with its largest share, by decreasing share."""
    largest: dict[int, float] = {}
    for arm, part in shares:
        largest[arm] = max(largest.get(arm, 0.0), min(1.0, float(part)))
    ranked = sorted(largest.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Challenger(arm, part) for arm, part in ranked)


def of_pairs(
    pairs: Iterable[tuple[int, int]], shares: Iterable[float], arms: Collection[int]
) -> tuple[Challenger, ...]:
    """Return `arms` as challengers; the share of an arm is the largest of its pairs' shares."""
    both = ((arm, part) for pair, part in zip(pairs, shares, strict=True) for arm in pair)
    return nearest_first((arm, part) for arm, part in both if arm in arms)


def _format_arms(arms: tuple[Challenger, ...]) -> str:
    named = [f"arm {rival.arm} ({share(rival.share)})" for rival in arms[:_NAMED]]
    return ", ".join(named + ["..."] * (len(arms) > _NAMED))
