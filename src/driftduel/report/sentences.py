"""What each chart shows in this run, in plain sentences computed from the data.

Names of policies and worlds stand between backticks, which the page turns into code.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from driftduel.figures.findings import (
    Changes,
    Curve,
    Findings,
    Game,
    Shares,
    Standing,
    Trend,
    WorldFindings,
    ratio_means,
)
from driftduel.games import Trace

__all__ = [
    "about_changes",
    "about_curves",
    "about_heat",
    "about_missing",
    "about_presence",
    "about_restarts",
    "about_shares",
    "about_totals",
    "about_trace",
    "about_trend",
    "code",
    "number",
    "overall_verdict",
    "told_remark",
    "verdict",
]

_SHOWN = 8
_REVEALING = {
    "at": "the rounds of the changes",
    "switches": "how often the best arm changes",
    "variation": "how much the preferences change",
}
_HALF = 0.5


def number(value: float) -> str:
    """Write a number for people, with three digits or all before the point.

    Examples
    --------
    >>> [number(x) for x in (0, 0.01234, 1.5, 3.0, 41.26, 412.3, 1234567.8, -0.5)]
    ['0', '0.0123', '1.50', '3', '41.3', '412', '1,234,568', '-0.500']
    """
    size = abs(value)
    if size >= 99.95 or value == int(value):
        return f"{value:,.0f}"
    if size < 0.001:
        return f"{value:.2e}"
    digits = 2 - math.floor(math.log10(float(f"{size:.3g}")))
    return f"{value:.{max(0, digits)}f}"


def plain(value: float, digits: int = 2) -> str:
    """Write a number without digits that say nothing.

    Examples
    --------
    >>> plain(0.8), plain(20000.0), plain(2.333), plain(-0.001, 2)
    ('0.8', '20,000', '2.33', '0')
    """
    return f"{round(value, digits) + 0.0:,.{digits}f}".rstrip("0").rstrip(".")


def slope(value: float) -> str:
    """Write an exponent, which is never minus nothing."""
    return f"{round(value, 2) + 0.0:.2f}"


def code(name: str) -> str:
    """Mark a name."""
    return f"`{name}`"


def listed(words: Sequence[str], most: int = _SHOWN, last: str = "and") -> str:
    """Write a list, cut when it is long.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c", "d"], most=2)
    ('a, b and c', 'a, b and 2 more')
    """
    if len(words) > most + 1:
        return f"{', '.join(words[:most])} {last} {len(words) - most} more"
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def counted(count: int, one: str, many: str | None = None) -> str:
    """Write a number with the right form of a word.

    Examples
    --------
    >>> counted(1, "run"), counted(2000, "switch", "switches")
    ('1 run', '2,000 switches')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def about_missing(planned: int, missing: int, failed: int, damaged: int = 0) -> str:
    """Say what is not there; an empty text if nothing is missing."""
    if not missing:
        return ""
    text = f"Unfinished: {counted(missing, 'game')} of {planned:,} "
    text += "is missing" if missing == 1 else "are missing"
    if failed:
        text += f", {failed:,} of them because they failed"
    if damaged:
        text += f", some because {counted(damaged, 'damaged file')} cannot be read"
    return text + ". Everything below is about the games that are there."


def verdict(standings: Sequence[Standing], where: str) -> str:
    """Say who won in a world, by how much, and how sure that is."""
    best, *others = sorted(standings, key=lambda standing: standing.mean)
    fewest, most = (pick(s.runs for s in standings) for pick in (min, max))
    over = counted(most, "run") if fewest == most else f"{fewest:,} to {counted(most, 'run')}"
    begin = f"Over {over} in {code(where)}"
    if not others:
        alone = f"{begin}, {code(best.name)} had a regret of {number(best.mean)}"
        alone += _interval(best)
        return f"{alone}. Nobody else played, so there is nothing to compare it with."
    second = others[0]
    if second.mean == best.mean and not second.difference:
        same = [s for s in others if s.mean == best.mean]
        names = listed([code(s.name) for s in (best, *same)])
        return f"{begin}, {names} had the same lowest regret, {number(best.mean)}."
    text = f"{begin}, {code(best.name)} had the lowest regret, {number(best.mean)}"
    text += f"{_interval(best)}. The next, {code(second.name)}, had "
    if second.ratio is None:
        text += number(second.mean)
    else:
        text += f"{_times(second.ratio)} as much ({number(second.mean)})"
    text += _how_sure(best, others)
    if fewest != most:
        text += " Not all played the same runs, so trust differences run by run more than means."
    return text


def _how_sure(best: Standing, others: Sequence[Standing]) -> str:
    """Finish the verdict's sentence: what the paired intervals of the differences say."""
    second, *rest = others
    if second.worse is None:
        if max(best.runs, second.runs) < 2:
            return ". One run has no interval: how sure this is cannot be said."
        return ". They share too few runs to say how sure this is."
    assert second.difference_low is not None
    assert second.difference_high is not None
    ends = f"{number(second.difference_low)} to {number(second.difference_high)}"
    text = f"; the 95 % interval of their difference, run by run, is {ends}"
    unclear = [code(s.name) for s in rest if not s.worse]
    worse = len(rest) - len(unclear)
    if second.difference_high < 0:
        return (
            f"{text}: in the runs that both played, it is {code(second.name)} that had less. "
            f"More runs will tell."
        )
    if second.worse:
        text += f", which excludes 0: {code(best.name)} is better beyond chance."
        if unclear:
            text += f" It cannot be told apart from {listed(unclear, last='or')}."
        elif rest:
            text += f" So it is against {'the other one' if worse == 1 else f'all {worse} others'}."
        return text
    text += ", which includes 0: these runs cannot tell the two apart"
    if unclear:
        text += f", nor {code(best.name)} from {listed(unclear, last='or')}"
    text += "."
    if worse:
        others_are = "The other one is" if worse == 1 else f"The other {worse} are"
        text += f" {others_are} worse beyond chance."
    return text


def about_totals(standings: Sequence[Standing]) -> str:
    """Say how far apart the policies are, and how many are worse than the best beyond chance."""
    best, *others = sorted(standings, key=lambda standing: standing.mean)
    if not others:
        return f"{code(best.name)} is alone, at {number(best.mean)}{_interval(best)}."
    last = others[-1]
    text = f"Regret goes from {number(best.mean)} ({code(best.name)}) to {number(last.mean)} "
    text += f"({code(last.name)})"
    if last.ratio is not None:
        text += f", {_times(last.ratio)} as much"
    worse = sum(bool(s.worse) for s in others)
    if any(s.worse is not None for s in others):
        those = f"; of the {len(others)} others, {worse or 'none'} {'is' if worse < 2 else 'are'}"
        if worse == len(others):
            those = f"; all {worse} others are" if worse > 1 else "; the other is"
        text += f"{those} worse than {code(best.name)} beyond chance"
    return text + "."


def _interval(standing: Standing) -> str:
    if standing.low is None or standing.high is None:
        return ""
    return f" (95 % interval {number(standing.low)} to {number(standing.high)})"


def _times(ratio: float) -> str:
    """Write how many times as much; ratios near 1 keep the digits that matter.

    Examples
    --------
    >>> _times(1.0004), _times(1.256), _times(12.69)
    ('1.000 times', '1.26 times', '12.7 times')
    """
    if ratio < 1.05:
        return f"{ratio:.3f} times"
    return f"{ratio:.2f} times" if ratio < 9.995 else f"{number(ratio)} times"


def told_remark(standings: Sequence[Standing]) -> str:
    """Say if the winner was told what a learner must find out, and who won among the others."""
    ranked = sorted(standings, key=lambda standing: standing.mean)
    best = ranked[0]
    told = [_REVEALING[key] for key in best.told if key in _REVEALING]
    if not told:
        return ""
    text = f"{code(best.name)} was told {listed(told)}, which a learner in the world is not."
    fair = [s for s in ranked if not set(s.told) & set(_REVEALING)]
    if fair:
        text += f" Among policies that were not, {code(fair[0].name)} had the lowest regret, "
        text += f"{number(fair[0].mean)}{_interval(fair[0])}."
    return text


def overall_verdict(worlds: Sequence[WorldFindings]) -> str:
    """Say who won in how many worlds, and who is best over all of them."""
    wins: dict[str, list[bool]] = {}
    for world in worlds:
        best, *others = world.ranked()
        sure = bool(others) and all(s.worse for s in others)
        wins.setdefault(best.name, []).append(sure)
    ordered = sorted(wins.items(), key=lambda each: -len(each[1]))
    parts = []
    for name, won in ordered[:3]:
        clear = sum(won)
        beyond = f"in {clear:,} of them beyond chance"
        if clear in (0, len(won)):
            beyond = f"{'' if clear else 'never '}beyond chance"
        parts.append(f"{code(name)} in {len(won):,} ({beyond})")
    more = sum(len(won) for _, won in ordered[3:])
    if more:
        parts.append(f"others in {more:,}")
    text = f"Lowest regret in {counted(len(worlds), 'world')}: {listed(parts)}."
    scores = ratio_means(worlds)
    if len(scores) > 1:
        policy = min(scores, key=scores.__getitem__)
        of_policy = [(s, w) for w in worlds for s in w.standings if s.policy == policy]
        worst, where = max(of_policy, key=lambda each: each[0].ratio or 0.0)
        if len(wins) > 1:
            text += f" Over all worlds, {code(worst.name)} did best: on average (geometric) its "
            text += f"regret was {_times(scores[policy])} that of the best in each world, at worst "
            text += f"{_times(worst.ratio or 1.0)} (in {code(where.label)})."
        told = [_REVEALING[key] for key in worst.told if key in _REVEALING]
        if told:
            text += f" It was told {listed(told)}, which a learner in the world is not."
        rivals = {
            s.policy: s
            for w in worlds
            for s in w.standings
            if s.policy in scores and s.policy != policy
        }
        fair = [p for p, s in rivals.items() if not (told and set(s.told) & set(_REVEALING))]
        if fair:
            runner = min(fair, key=scores.__getitem__)
            which = "The best of those that were not told" if told else "The next"
            which += " over all worlds" if len(wins) == 1 else ""
            text += f" {which} is {code(rivals[runner].name)} with {_times(scores[runner])}"
            text += " the best's regret on average (geometric)." if len(wins) == 1 else "."
    return text


def about_changes(
    changes: Changes,
    winners: Sequence[tuple[int, int | None]] | None,
    fixed: bool,
    example: str,
) -> str:
    """Say where the world changes, and from which best arm to which."""
    what, (change, stay) = changes.subject, changes.verbs
    runs = "In every run the" if changes.runs > 1 else "The"
    if changes.most == 0:
        return f"{runs} {what} {stay} the same throughout."
    often = (
        f"{changes.most:,}"
        if changes.fewest == changes.most
        else (f"{changes.fewest:,} to {changes.most:,}")
    )
    times = "time" if often == "1" else "times"
    if changes.example:
        rounds = listed([f"{t:,}" for t in changes.rounds])
        return (
            f"The {what} {change} {often} {times} in a run, each time in other rounds; the "
            f"changes drawn are those of {example}: in round {rounds}."
        )
    if changes.same:
        rounds = listed([f"{t:,}" for t in changes.rounds], most=12)
        where = "round" if len(changes.rounds) == 1 else "rounds"
        text = f"{runs} {what} {change} {often} {times}, in {where} {rounds}"
    else:
        rounds = listed(
            [
                f"{t:,} ({'all' if count == changes.runs else count} of {changes.runs} runs)"
                for t, count in zip(changes.rounds, changes.counts, strict=True)
            ],
            most=12,
        )
        rounds = rounds.replace(f"all of {changes.runs} runs", "all runs")
        text = f"The {what} {change} {often} {times} in a run: in round {rounds}"
    if what != "best arm":
        return f"{text}."
    if winners and (fixed or changes.runs == 1) and len(winners) <= _SHOWN:
        arms = [f"arm {winner}" if winner is not None else "none" for _, winner in winners]
        text += f", from {' to '.join(arms)}"
    elif not fixed and changes.runs > 1:
        text += "; which arm is best differs from run to run"
    return text + "."


def about_presence(world: WorldFindings) -> str:
    """Say how many arms there are at a time, if they come and go, and how many duels tie."""
    said = []
    if world.present is not None:
        low, high = world.present
        many = f"{low}" if low == high else f"{low} to {high}"
        verb = "is" if many == "1" else "are"
        said.append(
            f"Arms come and go: {many} of {world.arms} {verb} there at a time, and the best arm is "
            f"the best of those."
        )
    if world.ties > 0:
        said.append(f"Of the duels of two arms, {world.ties:.0%} tie; a tie is half a win.")
    return " ".join(said)


def about_curves(
    at: Sequence[int] | np.ndarray[tuple[int], np.dtype[np.int64]],
    curves: Mapping[int, Curve],
    names: Mapping[int, str],
    changes: Changes,
) -> str:
    """Say who leads when, and what a change costs the one who leads at the end."""
    rounds = np.asarray(at)
    places = list(curves)
    means = np.array([curves[place].mean for place in places])
    leaders = means.argmin(axis=0)
    last = int(leaders[-1])
    name = code(names[places[last]])
    if len(places) == 1:
        text = f"{name} has lost {number(means[0, -1])} by the end."
    else:
        others = np.flatnonzero((leaders != last) & (rounds >= rounds[-1] / 20))
        if len(others):
            since = rounds[others[-1] + 1]
            before = code(names[places[int(leaders[others[-1]])]])
            text = f"{name} has the lowest mean regret since about round {since:,}; "
            text += f"before, {before} had."
        else:
            text = f"{name} has the lowest mean regret almost from the start, and to the end."
        worst = int(means[:, -1].argmax())
        text += f" The highest at the end, {code(names[places[worst]])}, is at "
        text += f"{number(means[worst, -1])}, that of the leader at {number(means[last, -1])}."
    cost = _after_and_before(rounds, means[last], changes)
    if cost is not None:
        after, before_change = cost
        text += f" In the tenth of a phase after a change {name} loses {number(after)} a round"
        text += f", in the tenth before one {number(before_change)}."
    return text


def _after_and_before(
    rounds: np.ndarray[tuple[int], np.dtype[np.int64]],
    mean: np.ndarray[tuple[int], np.dtype[np.float64]],
    changes: Changes,
) -> tuple[float, float] | None:
    """Return the loss a round in the first and in the last tenth of phases, over all changes."""
    if changes.example or not changes.rounds or len(changes.rounds) > 20:
        return None
    ends = [1, *changes.rounds, int(rounds[-1]) + 1]
    lengths = np.diff(ends)
    sums = np.zeros(4)
    x, y = np.concatenate(([0], rounds)), np.concatenate(([0.0], mean))
    for i, change in enumerate(changes.rounds):
        for place, first, end in (
            (0, change - 1, change - 1 + lengths[i + 1] / 10),
            (2, change - 1 - lengths[i] / 10, change - 1),
        ):
            sums[place] += np.interp(end, x, y) - np.interp(first, x, y)
            sums[place + 1] += end - first
    if min(sums[1], sums[3]) < len(changes.rounds):
        return None
    return float(sums[0] / sums[1]), float(sums[2] / sums[3])


def about_heat(worlds: Sequence[WorldFindings]) -> str:
    """Say who is near the best everywhere, and who is furthest from it."""
    ratios: dict[str, list[float]] = {}
    for world in worlds:
        for standing in world.standings:
            if standing.ratio is not None:
                ratios.setdefault(standing.name, []).append(standing.ratio)
    if not ratios:
        return "The best policy has no regret in any world, so there are no ratios."
    near = {name: sum(ratio <= 1.1 for ratio in each) for name, each in ratios.items()}
    most = max(near.values())
    nearest = [code(name) for name, count in near.items() if count == most]
    text = f"{listed(nearest, most=3)} {'is' if len(nearest) == 1 else 'are each'} within 10 % of "
    text += f"the best in {most:,} of {counted(len(worlds), 'world')}."
    name, ratio, where = max(
        ((s.name, s.ratio, w.label) for w in worlds for s in w.standings if s.ratio is not None),
        key=lambda each: each[1],
    )
    text += f" Furthest from the best is {code(name)} in {code(where)}: {_times(ratio)} its regret."
    steady = {name: max(each) for name, each in ratios.items() if len(each) == len(worlds)}
    if len(steady) > 1 and min(steady.values()) > 1:
        safest = min(steady, key=steady.__getitem__)
        text += f" {code(safest)} has the smallest worst case: {_times(steady[safest])} the best."
    return text


def about_trend(trend: Trend, names: Mapping[int, str]) -> str:
    """Say how regret grows, for whom slowest and for whom fastest."""
    sign = "T" if trend.axis == "rounds" else "S"
    what = "rounds T" if trend.axis == "rounds" else f"changes of the {trend.subject} S"
    fitted = sorted(
        ((line.slope, place) for place, line in trend.lines.items() if line.slope is not None)
    )
    if not fitted:
        return "No policy has a positive regret everywhere, so no line can be fitted."
    between = f"between {plain(trend.x[0])} and {plain(trend.x[-1])} {what}"

    def describe(place: int) -> str:
        line = trend.lines[place]
        text = f"{sign}^{slope(line.slope or 0.0)}"
        if line.slope_low is not None and line.slope_high is not None:
            text += f" (95 % interval {slope(line.slope_low)} to {slope(line.slope_high)})"
        return text

    slowest = fitted[0][1]
    text = f"In {len(trend.x)} worlds {between}, the regret of {code(names[slowest])} grows "
    if len(fitted) == 1:
        text += f"like {describe(slowest)}."
    else:
        fastest = fitted[-1][1]
        text += f"slowest, like {describe(slowest)}, and that of {code(names[fastest])} fastest, "
        text += f"like {describe(fastest)}."
    halves = [code(names[place]) for _, place in fitted if _holds_half(trend, place)]
    if halves:
        text += f" A square root, {sign}^0.50, is within the interval of {listed(halves)}."
    elif all(trend.lines[place].slope_low is not None for _, place in fitted):
        text += f" A square root, {sign}^0.50, is within nobody's interval."
    if len(trend.x) == 2:
        text += " Two points make a line but do not show that it is straight."
    if trend.left_out:
        worlds = counted(trend.left_out, "world")
        text += f" Left out: {worlds} without any change, which a log axis has no place for."
    return text


def _holds_half(trend: Trend, place: int) -> bool:
    line = trend.lines[place]
    if line.slope_low is None or line.slope_high is None:
        return False
    return line.slope_low <= _HALF <= line.slope_high


def about_restarts(standings: Sequence[Standing], changes: Changes) -> str:
    """Say who restarts how often, against how many true switches, and how fast."""
    with_any = [s for s in standings if s.restarts > 0]
    what = f"The {changes.subject}"
    true = f"{what} {changes.verbs[0]} {number(changes.mean)} times in a run"
    true += "." if changes.fewest == changes.most else " on average."
    if changes.mean in (0, 1):
        true = f"{what} {'' if changes.mean else 'never '}{changes.verbs[0]}"
        true += " once in a run." if changes.mean else "."
    if not with_any:
        return f"{true} No policy here ever restarted."
    text = true
    answering = [s for s in with_any if s.detected is not None]
    nearest = max(answering, key=lambda s: (s.detected or 0, -s.too_many), default=None)
    if nearest is not None:
        text += f" {code(nearest.name)} answered "
        text += "the largest share of them" if len(answering) > 1 else "some of them"
        text += f" with a restart, {nearest.detected:.0%}"
        if nearest.delay is not None:
            text += f", {number(nearest.delay)} rounds after the change on average"
        text += f"; of its restarts, {number(nearest.restarts)} a run, "
        text += f"{number(nearest.too_many)} were needless."
        text = text.replace(", 0 were needless", ", none were needless")
    most = max(with_any, key=lambda s: s.too_many)
    if most is not nearest and most.too_many > 0:
        text += f" {code(most.name)} had the most needless restarts: {number(most.too_many)} of "
        text += f"{number(most.restarts)} a run."
    never = [code(s.name) for s in standings if s.restarts == 0]
    if never:
        text += f" {listed(never)} never restarted."
    return text


def about_shares(
    name: str, shares: Shares, slice_ends: Sequence[int], world: WorldFindings, run: str
) -> str:
    """Say how much a policy played the best arm, in all and around changes."""
    whose = f"averaged over {counted(shares.runs, 'run')}" if shares.runs > 1 else f"in {run}"
    if world.winners is None:
        arm = int(shares.all_arms.mean(axis=0).argmax())
        share = shares.all_arms.mean(axis=0)[arm]
        return (
            f"{code(name)}, {whose}: arm {arm} was played most, {share:.0%} of all plays. Which "
            f"arm was best when is not known here, because the world could not be built again."
        )
    of_best = best_share(shares, slice_ends, world)
    known = ~np.isnan(of_best)
    if all(winner is None for _, winner in world.winners):
        arm = int(shares.all_arms.mean(axis=0).argmax())
        share = shares.all_arms.mean(axis=0)[arm]
        return (
            f"{code(name)}, {whose}: arm {arm} was played most, {share:.0%} of all plays. No arm "
            f"beats all others in any round."
        )
    if not known.any():
        return f"{code(name)}, {whose}: the best arm changes too often to be followed here."
    lengths = np.diff(np.asarray(slice_ends), prepend=0)
    total = float((of_best * lengths)[known].sum() / lengths[known].sum())
    text = f"{code(name)}, {whose}: {total:.0%} of its plays were of the arm that was best at the "
    text += "time"
    after, before = _around_changes(of_best, slice_ends, [first for first, _ in world.winners[1:]])
    if after and before:
        text += f"; {np.mean(before):.0%} just before a change, {np.mean(after):.0%} just after one"
    if world.present is None:
        text += f". Choosing at random would be {1 / world.arms:.0%}"
    return f"{text}."


def best_share(
    shares: Shares, slice_ends: Sequence[int], world: WorldFindings
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the share of the best arm in each slice; nan where it changes inside."""
    ends = np.asarray(slice_ends)
    result = np.full(len(ends), np.nan)
    for first, last, winner in world.phases():
        inside = (np.concatenate(([0], ends[:-1])) + 1 >= first) & (ends <= last)
        if winner is not None:
            result[inside] = shares.all_arms[inside, winner]
    return result


def _around_changes(
    of_best: np.ndarray[tuple[int], np.dtype[np.float64]],
    slice_ends: Sequence[int],
    changes: Sequence[int],
) -> tuple[list[float], list[float]]:
    """Return the best arm's shares in the whole slices right after and right before changes."""
    ends = np.asarray(slice_ends)
    after: list[float] = []
    before: list[float] = []
    for change in changes:
        following = int(np.searchsorted(ends, change - 1, "left")) + 1
        preceding = int(np.searchsorted(ends, change - 1, "right")) - 1
        for place, found in ((following, after), (preceding, before)):
            if 0 <= place < len(ends) and not np.isnan(of_best[place]):
                found.append(float(of_best[place]))
    return after, before


def about_trace(played: Trace, regret: float, run: str, why: str) -> str:
    """Say what one game of ANACONDA looks like."""
    from driftduel.figures.trace import replays_of

    replays = sum(depth > 0 for *_, depth in replays_of(played))
    inside = float(np.mean(played.replay_start != played.episode_start))
    restarts = list(played.policy.restarts)
    eliminated = sum(
        len(set(before) - set(after))
        for before, after, old, new in zip(
            played.good, played.good[1:], played.episode_start, played.episode_start[1:],
            strict=False,
        )
        if old == new
    )  # fmt: skip
    text = f"{run[0].upper()}{run[1:]} (regret {number(regret)}, {why}): "
    text += f"{counted(replays, 'replay')}, in {inside:.0%} of the rounds; "
    text += f"{counted(eliminated, 'time')} an arm was eliminated; "
    if restarts:
        rounds = listed([f"{t:,}" for t in restarts])
        text += f"{counted(len(restarts), 'restart')}, after round {rounds}."
    else:
        text += "no restart"
        nothing = "; with all arms in play to the end it chose almost at random"
        text += f"{nothing if not eliminated else ''}."
    return text


def game_name(game: Game, seeds: int) -> str:
    """Name a run; its seed only if there are several."""
    seed, run = game
    return f"run {run}" if seeds == 1 else f"run {run} of seed {seed}"


def settings_text(findings: Findings) -> str:
    """Say in one sentence what was planned."""
    plan = findings.plan
    policies = counted(len(plan.policies), "policy", "policies")
    text = f"{policies} in {counted(len(plan.worlds), 'world')}, "
    text += f"{counted(plan.runs * len(plan.seeds), 'run')} each"
    return text + (
        f" (seeds {listed([str(s) for s in plan.seeds])})" if len(plan.seeds) > 1 else ""
    )
