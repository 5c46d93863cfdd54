"""Verdicts: sentences about the best policy, its lead and the evidence, for terminals and pages.

Names of policies and worlds are enclosed in backticks, which pages convert to code and
`wording.plain` removes.
"""

from collections.abc import Sequence

from driftduel._internal.wording import code, counted, interval, listed, number, times
from driftduel.lab.findings.standings import Standing
from driftduel.lab.findings.world import WorldFindings, ratio_means

__all__ = [
    "about_totals",
    "overall_verdict",
    "prior_knowledge_remark",
    "short_verdict",
    "verdict",
    "with_interval",
]

_REVEALING = {
    "at": "the rounds of the changes",
    "switches": "the number of changes of the best arm",
    "variation": "the total variation of the preferences",
}
_USES = "uses prior knowledge ({}) that is unavailable in practice."


def short_verdict(standings: Sequence[Standing], loss: str = "regret") -> str:
    """Return one or two sentences about the best policy in a world, with the evidence."""
    if not standings:
        return "Nothing is finished yet."
    best, *others = _by_mean(standings)
    if not others:
        return f"{code(best.name)} is the only policy with results."
    lowest = f"{code(best.name)} has the lowest {loss}"
    if best.runs < 2:
        return f"{lowest} in a single run, which gives no interval."
    unclear = _not_worse(others)
    if not unclear:
        whom = _all_of(len(others))
        return f"{lowest}, and against {whom} the paired interval of the difference excludes 0."
    intervals = "interval of the difference includes"
    if len(unclear) > 1:
        intervals = "intervals of the differences include"
    return (
        f"{lowest}, but the runs cannot distinguish it from {listed(unclear, last='or')}: the "
        f"paired {intervals} 0."
    )


def verdict(standings: Sequence[Standing], where: str, loss: str = "regret") -> str:
    """Return a sentence about the best policy in a world, its lead and the evidence.

    Parameters
    ----------
    standings
        The results of the policies; at least one.
    where
        The name of the world.
    loss
        The measured quantity: regret or exploitability.
    """
    best, *others = _by_mean(standings)
    fewest, most = (pick(s.runs for s in standings) for pick in (min, max))
    over = counted(most, "run") if fewest == most else f"{fewest:,} to {counted(most, 'run')}"
    begin = f"Over {over} in {code(where)}"
    if not others:
        article = "an" if loss[0] in "aeiou" else "a"
        alone = f"{begin}, {code(best.name)} had {article} {loss} of {number(best.mean)}"
        alone += with_interval(best)
        return f"{alone}. There is no other policy to compare with."
    second = others[0]
    if second.mean == best.mean and not second.difference:
        same = [s for s in others if s.mean == best.mean]
        names = listed([code(s.name) for s in (best, *same)])
        return f"{begin}, {names} had the same lowest {loss}, {number(best.mean)}."
    text = f"{begin}, {code(best.name)} had the lowest {loss}, {number(best.mean)}"
    text += f"{with_interval(best)}. The next, {code(second.name)}, had "
    if second.ratio is None:
        text += number(second.mean)
    else:
        text += f"{times(second.ratio)} as much ({number(second.mean)})"
    text += _evidence(best, others)
    if fewest != most:
        text += " Runs differ between policies, so paired differences are more reliable than means."
    return text


def _evidence(best: Standing, others: Sequence[Standing]) -> str:
    """Return the end of the verdict: the paired intervals of the differences."""
    second, *rest = others
    if second.difference_low is None or second.difference_high is None:
        if max(best.runs, second.runs) < 2:
            return ". One run has no interval, so the certainty is unknown."
        return ". They share too few runs for an interval of the difference."
    ends = interval(second.difference_low, second.difference_high)
    text = f"; the 95% interval of their paired difference is {ends}"
    unclear = _not_worse(rest)
    worse = len(rest) - len(unclear)
    if second.difference_high < 0:
        return f"{text}: in the common runs, {code(second.name)} had less. More runs are needed."
    if second.worse:
        text += f", which excludes 0: {code(best.name)} is better beyond chance."
        if unclear:
            text += f" It cannot be distinguished from {listed(unclear, last='or')}."
        elif rest:
            text += f" The same holds against {_all_of(worse)}."
        return text
    text += ", which includes 0: these runs cannot distinguish the two"
    if unclear:
        text += f", nor {code(best.name)} from {listed(unclear, last='or')}"
    text += "."
    if worse:
        others_are = "The other one is" if worse == 1 else f"The other {worse} are"
        text += f" {others_are} worse beyond chance."
    return text


def about_totals(standings: Sequence[Standing], loss: str = "regret") -> str:
    """Return the range of regret, and the number of policies worse than the best beyond chance."""
    best, *others = _by_mean(standings)
    if not others:
        return f"{code(best.name)} is the only policy: {number(best.mean)}{with_interval(best)}."
    last = others[-1]
    text = f"{loss.capitalize()} goes from {number(best.mean)} ({code(best.name)}) to "
    text += f"{number(last.mean)} ({code(last.name)})"
    if last.ratio is not None:
        text += f", {times(last.ratio)} as much"
    worse = sum(bool(s.worse) for s in others)
    if any(s.worse is not None for s in others):
        those = f"; of the {len(others)} others, {worse or 'none'} {'is' if worse < 2 else 'are'}"
        if worse == len(others):
            those = f"; {_all_of(worse)} {'is' if worse == 1 else 'are'}"
        elif len(others) == 1:
            those = "; the other is not"
        text += f"{those} worse than {code(best.name)} beyond chance"
    return text + "."


def prior_knowledge_remark(standings: Sequence[Standing], loss: str = "regret") -> str:
    """Return a remark on prior knowledge of the best policy, with the best one without it."""
    best, *others = _by_mean(standings)
    known = _prior_knowledge(best)
    if not known:
        return ""
    text = f"{code(best.name)} {_USES.format(listed(known))}"
    fair = next((s for s in others if not _prior_knowledge(s)), None)
    if fair is not None:
        text += f" Among policies without it, {code(fair.name)} had the lowest {loss}, "
        text += f"{number(fair.mean)}{with_interval(fair)}."
    return text


def overall_verdict(worlds: Sequence[WorldFindings]) -> str:
    """Return the number of worlds in which each policy is best, and the best over all worlds."""
    loss = worlds[0].loss
    wins: dict[str, list[bool]] = {}
    for world in worlds:
        best, *others = world.ranked
        sure = bool(others) and all(s.worse for s in others)
        wins.setdefault(best.name, []).append(sure)
    ordered = sorted(wins.items(), key=lambda item: -len(item[1]))
    parts = []
    for name, won in ordered[:3]:
        clear = sum(won)
        beyond = f"in {clear:,} of them beyond chance"
        if clear in (0, len(won)):
            beyond = f"{'' if clear else 'not '}beyond chance"
        parts.append(f"{code(name)} in {len(won):,} ({beyond})")
    more = sum(len(won) for _, won in ordered[3:])
    if more:
        parts.append(f"others in {more:,}")
    text = f"Lowest {loss} in {counted(len(worlds), 'world')}: {listed(parts)}."
    scores = ratio_means(worlds)
    if len(scores) > 1:
        text += _over_all(worlds, scores, len(wins) == 1, loss)
    return text


def _over_all(
    worlds: Sequence[WorldFindings], scores: dict[int, float], one_winner: bool, loss: str
) -> str:
    """Return the policies with the lowest and second lowest mean ratio to the best."""
    policy = min(scores, key=scores.__getitem__)
    of_policy = [(s, w) for w in worlds for s in w.standings if s.policy == policy]
    worst, where = max(of_policy, key=lambda pair: pair[0].ratio or 0.0)
    text = ""
    if not one_winner:
        text += f" Over all worlds, {code(worst.name)} did best: on average (geometric) its "
        text += f"{loss} was {times(scores[policy])} that of the best in each world, at worst "
        text += f"{times(worst.ratio or 1.0)} (in {code(where.label)})."
    known = _prior_knowledge(worst)
    if known:
        text += f" It {_USES.format(listed(known))}"
    others = scores.keys() - {policy}
    rivals = {s.policy: s for w in worlds for s in w.standings if s.policy in others}
    fair = [p for p, s in rivals.items() if not (known and _prior_knowledge(s))]
    if fair:
        runner = min(fair, key=scores.__getitem__)
        which = "The best policy without it" if known else "The next"
        which += " over all worlds" if one_winner else ""
        text += f" {which} is {code(rivals[runner].name)} with {times(scores[runner])}"
        text += f" the best's {loss} on average (geometric)." if one_winner else "."
    return text


def with_interval(standing: Standing) -> str:
    """Return the 95% interval of a mean in brackets; an empty string for one run."""
    if standing.low is None or standing.high is None:
        return ""
    return f" (95% interval {interval(standing.low, standing.high)})"


def _by_mean(standings: Sequence[Standing]) -> list[Standing]:
    return sorted(standings, key=lambda standing: standing.mean)


def _all_of(count: int) -> str:
    """Return a phrase for all of the other policies."""
    return {1: "the other", 2: "both others"}.get(count, f"all {count:,} others")


def _not_worse(others: Sequence[Standing]) -> list[str]:
    """Return the names of the policies that are not worse than the best beyond chance."""
    return [code(s.name) for s in others if not s.worse]


def _prior_knowledge(standing: Standing) -> list[str]:
    """Return descriptions of the policy's prior knowledge that is unavailable in practice."""
    return [_REVEALING[key] for key in standing.told if key in _REVEALING]
