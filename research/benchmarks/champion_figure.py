"""Draw docs/assets/champion.svg and .png: one game of `king`, and what others lose in it.

The game is an ordinary one: of the games 0 to 39 of this world, king's regret is the median.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from driftduel.figures.style import arm_colour, figure, save
from driftduel.games import play, streams, trace
from driftduel.policies import make_policy
from research.places import DOCS

ASSETS = DOCS / "assets"
WORLD = "geometric-btl:arms=5,rounds=50000,phases=4,change=winner"
SEED = 30
WINDOWS = (300, 1000, 3000, 10000, 30000, 100000)
LONG = 20
"""Matches of so many duels are drawn thick."""
_GREY = "#777777"
_SMALL = 7.5


class Match(NamedTuple):
    """One match: first round, challenger, duels, and whether the king fell in it."""

    begin: int
    challenger: int
    duels: int
    won: bool


def look_inside(seed: int = SEED) -> tuple[Any, list[Match], list[int]]:
    """Play the game; return it, king's matches, and the king of every round."""
    played = trace("king", WORLD, seed)
    policy = make_policy("king", played.world.arms, streams(seed)[2])
    matches: list[Match] = []
    kings: list[int] = []
    running: dict[int, tuple[int, int]] = {}
    count = 0
    for t, (first, second, won) in enumerate(
        zip(played.first, played.second, played.first_won, strict=True), start=1
    ):
        assert policy.choose(t)[:2] == (first, second)
        kings.append(int(first))
        j = int(second)
        if policy.state.numbers[0].matches > count:
            count, running[j] = count + 1, (t, 0)
        policy.learn(t, int(first), j, int(won), ())
        if first == second:
            continue
        running[j] = (running[j][0], running[j][1] + 1)
        fallen = policy.state.numbers[0].king != first
        for i in list(running):
            if policy.state.arms[i].lead < 0:
                matches.append(Match(running[i][0], i, running[i][1], fallen and i == j))
                del running[i]
    return played, sorted(matches), kings


def strip(panel: Any, row: float, arms: Any, rounds: int) -> None:
    """Draw the arm of every round: colours, and numbers where there is space."""
    arms = np.asarray(arms)
    edges = [0, *(np.flatnonzero(np.diff(arms)) + 1), rounds]
    for begin, end in pairwise(edges):
        arm = int(arms[begin])
        panel.barh(row, end - begin, left=begin, height=0.8, color=arm_colour(arm), lw=0)
        if end - begin > rounds / 30:
            panel.text(
                (begin + end) / 2, row, str(arm), ha="center", va="center_baseline",
                fontsize=_SMALL, fontweight="bold", color="white",
                bbox={"boxstyle": "circle,pad=0.15", "fc": "#222222", "lw": 0},
            )  # fmt: skip


def draw(seed: int = SEED) -> dict[str, float]:
    """Draw the figure; return the regrets in it."""
    played, matches, kings = look_inside(seed)
    rounds, arms = played.world.rounds, played.world.arms
    points = np.arange(250, rounds + 1, 250)
    games = {f"sw-dts:window={w}": play(f"sw-dts:window={w}", WORLD, seed, points=points)
             for w in WINDOWS}  # fmt: skip
    best = min(games, key=lambda name: games[name].total)
    window = int(best.partition("=")[2])
    curves = {
        name: play(name, WORLD, seed, points=points) for name in ("king", "oracle-dts", "dts")
    }
    curves[best] = games[best]
    game = curves["king"]
    winners = np.empty(rounds, np.int64)
    for t, winner in played.world.condorcet_winners():
        winners[t - 1 :] = winner
    with figure(3, [0.55, 1.45, 2.3], width=4.6) as (canvas, (top, middle, bottom)):
        strip(top, 1, winners, rounds)
        strip(top, 0, kings, rounds)
        top.set_yticks([1, 0], ["best arm", "king"])
        top.set(ylim=(-0.5, 1.5))
        top.tick_params(length=0)
        for side in ("left", "bottom"):
            top.spines[side].set_visible(False)
        top.set_title("Who is best, and who is king")

        for match in matches:
            long = match.duels >= LONG
            middle.plot(
                [match.begin] * 2, [match.challenger - (0.38 if long else 0.24),
                                    match.challenger + (0.38 if long else 0.24)],
                color="black" if long else _GREY, lw=1.3 if long else 0.35, solid_capstyle="butt",
            )  # fmt: skip
        falls = [match for match in matches if match.won]
        middle.plot(
            [m.begin for m in falls], [m.challenger for m in falls], ls="", marker="v", ms=6.5,
            mfc="#D55E00", mec="white", mew=0.7, clip_on=False, zorder=4,
        )  # fmt: skip
        middle.set_yticks(range(arms), [f"arm {arm}" for arm in range(arms)])
        middle.set(ylim=(arms - 0.45, -0.55))
        middle.tick_params(axis="y", length=0)
        middle.spines["left"].set_visible(False)
        share = np.mean(played.first != played.second)
        longest = sum(match.duels >= LONG for match in matches)
        middle.set_title(
            f"Its {len(matches)} matches, by challenger ({100 * share:.1f}% of rounds)"
        )
        middle.set_xlabel(
            f"thin: under {LONG} duels; thick: {LONG} or more ({longest} matches); "
            "triangle: king falls",
            fontsize=7,
        )

        looks = {
            "dts": ("dts, which never forgets", "#4D4D4D", (0, (1, 1.4)), 1.2),
            best: (f"sw-dts, best of six windows here ({window:,})", "#E69F00", (0, (5, 1.6)), 1.5),
            "king": ("king, told nothing", "#0072B2", "-", 2.2),
            "oracle-dts": ("oracle-dts, told every switch", "#009E73", (0, (5, 1.4, 1, 1.4)), 1.2),
        }
        limit = 1.15 * curves[best].total
        for name, (label, colour, dashes, width) in looks.items():
            regret = curves[name].regret["dynamic"]
            bottom.plot(
                np.append(0, curves[name].at), np.append(0, regret), color=colour, ls=dashes,
                lw=width, label=f"{label}: {curves[name].total:,.0f} in the end",
            )  # fmt: skip
        bottom.set(ylim=(0, limit), xlim=(0, rounds), xlabel="round", ylabel="regret")
        bottom.set_xticks(range(0, rounds + 1, 10000), [f"{t:,}" for t in
                                                        range(0, rounds + 1, 10000)])  # fmt: skip
        bottom.legend(
            fontsize=_SMALL, frameon=False, loc="upper left", bbox_to_anchor=(-0.02, -0.26),
            handlelength=3.4, labelspacing=0.25, borderaxespad=0,
        )  # fmt: skip
        bottom.set_title("Regret of king and of others in the same game")
        for panel in (middle, bottom):
            for t in game.switches:
                panel.axvline(t, color=_GREY, lw=0.6, ls=(0, (2, 2)), zorder=0)
        for suffix in (".svg", ".png"):
            save(canvas, ASSETS / f"champion{suffix}")
    return {name: each.total for name, each in curves.items()}


if __name__ == "__main__":
    print(draw())
