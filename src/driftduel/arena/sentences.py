"""The sentences of a board, shared by the page, the terminal and notebooks.

They are made from the board's fields and contain no time of day: a page writes times in its
reader's time zone.
"""

import math
from typing import TYPE_CHECKING

from msgspec import UNSET

from driftduel._internal.wording import (
    counted,
    interval,
    listed,
    number,
    often,
    rough,
    share,
    short,
    whole,
)
from driftduel.arena.board_fields import CertifiedChange, JudgeAgreement, Sentences
from driftduel.evidence import ALPHA

if TYPE_CHECKING:
    from driftduel.arena.board import Board

__all__ = [
    "FEWEST_VOTES",
    "change_sentence",
    "clean",
    "guarantee",
    "judge_sentence",
    "sentences",
    "warnings",
]

_MUCH = 0.1  # share of all votes from which on a warning is given
_FEW = 30  # votes below which no share of them is reported
_LISTED = 3  # certified changes in the text
_LONGEST_NAME = 60
FEWEST_VOTES = 50
"""Votes for the first look at the evidence that features matter."""


def sentences(board: "Board") -> Sentences:
    """Return every sentence of a board, by subject; a filtered board has those about its votes."""
    if board.filter is not None:
        return Sentences(_claim(board), _doubt(board), "", "", "", "", _ranking(board), "")
    return Sentences(
        claim=_claim(board),
        doubt=_doubt(board),
        waiting=_waiting(board),
        challenger=_challenger(board),
        certified=_certified_changes(board),
        changes=_changes(board),
        ranking=_ranking(board),
        left=_left_side(board),
        requests=_requests(board),
    )


def clean(name: str) -> str:
    r"""Replace control characters in a name by spaces, and cut a long name.

    Examples
    --------
    >>> clean("two\nlines \x1b[31m"), len(clean("x" * 100))
    ('two lines [31m', 60)
    """
    kept = " ".join("".join(sign if sign.isprintable() else " " for sign in name).split())
    return kept if len(kept) <= _LONGEST_NAME else f"{kept[: _LONGEST_NAME - 1]}…"


def _quote(name: str) -> str:
    """Quote a name of several words."""
    name = clean(name)
    return f"“{name}”" if any(sign.isspace() for sign in name) else name


def _claim(board: "Board") -> str:
    if board.filter is not None:
        votes = counted(board.filter.votes, "vote")
        tag = clean(f"{board.filter.tag} = {board.filter.value}")
        return f"Only the {votes} with {tag}: a description of ranking and pairs."
    if board.leader is None or board.since is None:
        return "No leader yet." if board.learned else "No leader yet: no vote has been learned."
    name, ago = _quote(board.leader.name), board.learned - board.since.vote
    past = counted(board.imported, "imported vote")
    if not board.learned:
        return f"{name} leads after {past}; no vote has been learned here yet."
    verb = "led when the arena was closed" if board.closed else "leads"
    if board.requests is not None and board.requests.routed:
        verb += " for the mean request"
    if board.changes:
        return f"{name} {verb}; it took the lead {counted(max(ago, 0), 'vote')} ago."
    if board.imported:
        return f"{name} {verb}, after {past} and {counted(board.learned, 'vote')} here."
    return f"{name} {verb}, as it has from the beginning ({counted(board.learned, 'vote')})."


def _doubt(board: "Board") -> str:
    if board.filter is not None:
        return "A filtered board makes no claim: neither “sure” nor “certified” is about it."
    if board.leader is None:
        return f"{counted(board.votes, 'vote')} so far."
    if board.sure:
        if board.items is not None:
            counts = (
                f"from {counted(board.counted_voters, 'vote')} of these {_voters(board)} on this "
                "pool of items"
            )
        elif board.claim == "voters":
            counts = f"from {counted(board.counted_voters, 'voter')}"
        else:
            counts = f"from {counted(board.counted_voters, 'vote')} of these judges"
        if board.requests is not None:
            return (
                f"Sure, {counts}: over the requests at which they met, it has beaten every other "
                "option often enough. For some requests another option may be better."
            )
        return f"Sure, {counts}: it has beaten every other option often enough."
    missing = [rival for rival in board.evidence if rival.e < rival.needed]
    if not missing:
        return "Not sure: no other option is present."
    few = board.items is None and board.voters < board.voters_required
    if board.claim == "voters" and few:
        return (
            f"Not sure: at least {whole(board.voters_required)} voters must compare the leader "
            f"with each other option, and {counted(board.voters, 'voter')} took part. A voter "
            "counts once per pair; votes without a voter id from one source are one voter."
        )
    # The rival with the least evidence first.
    missing.sort(key=lambda rival: math.log(max(rival.e, 1e-300)))
    names = listed([_quote(rival.name) for rival in missing], most=4, last="or")
    text = f"Not sure yet: it has not beaten {names} often enough."
    if board.votes_needed is None or board.closed:
        return text
    many = rough(_two_digits(board.votes_needed))
    return f"{text} About {many} votes until sure, if preferences stay as they are."


def _shown(board: "Board") -> str:
    return "pairs" if board.show is UNSET else "slates"


def _voters(board: "Board") -> str:
    return "voters" if board.claim == "voters" else "judges"


def _waiting(board: "Board") -> str:
    if not board.held_by:
        return ""
    verb = "waits" if board.held == 1 else "wait"
    pages = "its page stays" if board.held_by == 1 else "their pages stay"
    return (
        f"{counted(board.held, 'vote')} {verb} for {counted(board.held_by, 'open duel')}, at most "
        f"{board.lease:g} s longer than {pages} open."
    )


def _two_digits(count: int) -> int:
    return int(float(f"{count:.2g}"))


def _challenger(board: "Board") -> str:
    nearest = board.challenger
    if nearest is None:
        return "No option is on its way to take the lead."
    if _is_logistic(board):
        return (
            f"Nearest challenger: {_quote(nearest.name)}; its estimated odds against the leader, "
            f"for the mean request and after prices, are {nearest.share:.2f}."
        )
    part = share(nearest.share)
    return f"Nearest challenger: {_quote(nearest.name)}, {part} of the way to the lead."


def change_sentence(change: CertifiedChange) -> str:
    """Return the sentence about a certified change."""
    before, after = _quote(change.before), _quote(change.after)
    return (
        f"Preferences changed between vote {whole(change.from_vote)} and vote "
        f"{whole(change.to_vote)} (certified): {before} was preferred to {after} before, {after} "
        f"to {before} after."
    )


def judge_sentence(judge: JudgeAgreement) -> str:
    """Return the sentences about an automatic judge."""
    name = _quote(judge.judge)
    text = f"Judge {name}: {counted(judge.votes, 'vote')}."
    if judge.agreement is None:
        text += " It shares no pair and item with people."
    else:
        band = _band(judge.low, judge.high)
        text += (
            f" It agrees with {share(judge.agreement)} of people's votes{band} on "
            f"{counted(judge.shared, 'shared pair and item', 'shared pairs and items')}."
        )
    if judge.consistent is not None:
        text += (
            f" In {share(judge.consistent)} of {counted(judge.both_orders, 'duel')} judged in both "
            "orders it preferred the same option."
        )
    if judge.first_share is not None:
        band = _band(judge.first_low, judge.first_high)
        text += f" It picked the option it saw first in {share(judge.first_share)}{band}."
    return text


def _band(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" ({interval(low, high, share)})"


def _certified_changes(board: "Board") -> str:
    found = board.certified_changes
    if board.requests is not None:
        return (
            "With features no change of preferences is certified here, because another mix of "
            "requests could look like one; “driftduel log features” tests an export for changes."
        )
    if not found:
        return "No change of preferences is certified."
    text = " ".join(change_sentence(change) for change in found[-_LISTED:])
    if len(found) <= _LISTED:
        return text
    return f"{whole(len(found))} changes of preferences are certified; the last {_LISTED}: {text}"


def _changes(board: "Board") -> str:
    many, alarms, bound = board.lead_changes, board.alarms, board.false_alarms_at_most
    if not many and not alarms:
        return "The lead has not changed so far."
    text = f"The lead changed {often(many)}, with {counted(alarms, 'alarm')}."
    if not alarms:
        return text
    if _is_logistic(board):
        text += " At an alarm, recent votes were predicted better without the older ones."
        if bound is not None:
            text += (
                " If preferences had not changed and the policy's model of them were exact, at "
                f"most {bound:.1f} {'alarm' if bound <= 1 else 'alarms'} would be expected so far."
            )
        return text
    text += (
        " At an alarm the leader was beaten too often for chance: it was not the best option, "
        "which does not show that preferences changed."
    )
    if bound is None:
        return f"{text} {board.policy} has no bound on false alarms."
    return (
        f"{text} If no challenger had been better than the leader it met, "
        f"{counted(board.learned, 'vote')} would raise at most {bound:.1f} "
        f"{'alarm' if bound <= 1 else 'alarms'} on average."
    )


def _ranking(board: "Board") -> str:
    votes = counted(board.ranking_votes, "vote")
    if board.filter is not None:
        which = f"{votes} with this tag, among the votes that the whole board ranks (at most 1,000)"
    elif board.lead_changes and board.since is not None:
        which = f"the last {votes}: those since the lead changed, at least 100 and at most 1,000"
    else:
        which = f"the last {votes} (at most 1,000)"
    return (
        "A description, not evidence: how often each option would be preferred to another one "
        f"drawn at random ({_model(board)} model), in {which}. Bands are 95% for one look."
        + ("" if board.requests is None else " Options meet at different requests.")
    )


def _model(board: "Board") -> str:
    return "Bradley-Terry" if board.show is UNSET else "Plackett-Luce"


def _is_logistic(board: "Board") -> bool:
    return board.policy.partition(":")[0] == "adaptive-logistic"


def _requests(board: "Board") -> str:
    """Return the sentences about leaders by category, features and prices."""
    parts = [] if board.requests is None else [_category_leaders(board), _features(board)]
    priced = [each for each in board.prices if each.price]
    if priced:
        named = listed([f"{_quote(each.name)} {each.price:g}" for each in priced])
        parts.append(f"Prices in log-odds: {named}; choices subtract them, votes do not.")
    return " ".join(part for part in parts if part)


def _category_leaders(board: "Board") -> str:
    """Return a sentence for each category: which option leads for which values."""
    assert board.requests is not None
    if not board.requests.routed:
        return f"{clean(board.policy)} ignores the requests: its leader is the same for all."
    text: list[str] = []
    for feature in dict.fromkeys(each.feature for each in board.requests.leaders):
        values: dict[str, list[str]] = {}
        for each in board.requests.leaders:
            if each.feature == feature and each.leader is not None:
                values.setdefault(_quote(each.leader.name), []).append(_quote(each.value))
        if values:
            leads = "; ".join(f"{name} for {listed(where)}" for name, where in values.items())
            text.append(f"Leaders by {_quote(feature)}: {leads}.")
    return " ".join(text)


def _features(board: "Board") -> str:
    """Return the sentences about the evidence that the features matter."""
    found = None if board.requests is None else board.requests.evidence
    if board.requests is None or found is None:
        return ""
    who = "of different voters " if board.claim == "voters" else ""
    if not found.looked:
        return (
            f"Whether features matter is not examined yet: it takes {FEWEST_VOTES} votes "
            f"{who}with a winner, and there {'is' if found.votes == 1 else 'are'} "
            f"{whole(found.votes)}."
        )
    e = "over a million" if found.e > 999_999 else short(found.e)
    ratio = f"evidence {e} after {counted(found.looked, 'vote')}, {number(found.needed)} needed"
    if not found.matters:
        return f"So far no dependence of preferences on the features is established ({ratio})."
    text = f"Preferences depend on the features ({ratio})."
    if len(board.requests.features) == 1:
        return text
    which = listed([_quote(name) for name in found.which]) or "none"
    return f"{text} Established for single features: {which}."


def _left_side(board: "Board") -> str:
    side = board.left
    if side.share is None or side.low is None or side.high is None:
        if board.show is not UNSET:
            return (
                f"There are fewer than {_FEW} picks: too few to see whether a place is preferred."
            )
        return f"There are fewer than {_FEW} picks: too few to see whether a side is preferred."
    ends = interval(side.low, side.high, lambda value: share(value, 1))
    band = f"{share(side.share, 1)} of all picks were on the left ({ends})"
    if board.show is not UNSET:
        band = f"{share(side.share, 1)} of all best cards were in the first half ({ends})"
        if side.low <= 0.5 <= side.high:
            return f"{band}: no preference for a place can be seen."
        which = "first" if side.low > 0.5 else "last"
        return (
            f"{band}: voters prefer the {which} cards. Their order is drawn at random, so no "
            "option gains by it; more votes are needed."
        )
    if side.low <= 0.5 <= side.high:
        return f"{band}: no preference for a side can be seen."
    which = "left" if side.low > 0.5 else "right"
    return (
        f"{band}: voters prefer the {which} side. Sides are drawn at random, so no option gains "
        "by it; more votes are needed."
    )


def guarantee(board: "Board") -> str:
    """Return what the board guarantees, and the assumption; an empty string with a filter."""
    if board.filter is not None:
        return ""
    people = "" if board.evidence_of == "all" else " Votes of automatic judges are not evidence."
    if board.items is not None:
        once = (
            "A voter's vote counts once per pair and item, and items"
            if board.claim == "voters"
            else "Items"
        )
        assumed = (
            f"These statements are about these {_voters(board)} and this pool of items. {once} are "
            f"chosen without regard to votes.{people} If votes on different duels are independent, "
            "the"
        )
    elif board.claim == "judges":
        assumed = (
            "These statements are about these judges, and assume that their votes on a pair are "
            f"independent.{people} Then the"
        )
    else:
        assumed = (
            f"A voter's first vote on a pair counts.{people} If voters vote independently of each "
            "other, the"
        )
    if board.show is not UNSET:
        assumed = (
            "A slate is one vote, and a duel of each two options that it orders. The preference of "
            "one option to another must not depend on the other options shown (independence of "
            f"irrelevant alternatives). {assumed}"
        )
    text = (
        f"{assumed} probability that this arena is ever sure of a leader although another option "
        "did at least as well in their duels, on average over the counted votes, is at most "
        f"{share(ALPHA)}."
    )
    if board.requests is None:
        return (
            f"{text} The probability that it ever certifies a change that did not happen is at "
            f"most {share(ALPHA)}."
        )
    return (
        f"{text} This average is over the requests at which the two met, and without prices. If "
        "preferences do not depend on the features, and change at most once for each pair, the "
        "probability that the board ever reports a dependence is at most "
        f"{share(ALPHA)}. Leaders by category are best guesses."
    )


def warnings(board: "Board") -> list[str]:
    """Return what limits the validity of the board."""
    found = []
    votes, most = board.votes, board.votes_per_voter.most or 0
    if board.claim == "voters" and votes >= _FEW and most > _MUCH * votes:
        found.append(
            f"One voter or source gave {share(most / votes)} of all votes: leader and ranking may "
            "show the preference of one person."
        )
    came = votes + board.late
    if came >= _FEW and board.late > _MUCH * came:
        found.append(
            f"{share(board.late / came)} of the votes came too late to be counted; if that "
            "depends on the pick, the board is wrong. A longer lease helps."
        )
    seen = votes + board.skips
    if seen >= _FEW and board.skips > 2 * _MUCH * seen:
        found.append(
            f"{share(board.skips / seen)} of the {_shown(board)} were skipped; if that depends on "
            "which option would have won, the board is wrong."
        )
    if board.voided:
        found.append(
            f"{counted(board.voided, 'vote')} taken out by the owner: if that depended on the "
            "pick, “sure” and “certified” are not valid."
        )
    if board.order == "arrival" and board.mode == "panel":
        found.append(
            "Votes are learned as they arrive: if the time that voters take depends on their pick, "
            "the board is wrong. Learning in the order of asking avoids this."
        )
    low, high = board.left.low, board.left.high
    if low is not None and high is not None and not low <= 0.5 <= high:
        found.append(board.says.left)
    return found
