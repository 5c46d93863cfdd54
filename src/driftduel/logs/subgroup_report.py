"""Differences between subgroups as plain data and sentences, for terminal, JSON and board."""

import math
from collections.abc import Collection
from dataclasses import asdict
from typing import Any

import numpy as np

from driftduel._internal.wording import code, counted, share, short
from driftduel.evidence import ALPHA
from driftduel.logs.subgroups import (
    ReversedPair,
    TaggedVotes,
    option_shares,
    reversed_pairs,
    tag_evidence,
    tag_matters,
)

__all__ = ["describe_subgroups"]

_MOST_LOG = math.log(1e6)  # a larger e-value is reported as this


def describe_subgroups(
    votes: TaggedVotes, tag: str, changed_often: Collection[tuple[int, int]] = ()
) -> dict[str, Any]:
    """Return the comparison of the subgroups of a tag; the keys are those of `Subgroups`.

    Parameters
    ----------
    votes
        The votes with a value of the tag.
    tag
        The name of the tag.
    changed_often
        Pairs that changed more than once, see `tag_evidence`.
    """
    log_e = tag_evidence(votes, changed_often)
    single = votes.each_value()
    found = reversed_pairs(single)
    counts = np.bincount(single.value, minlength=len(single.values))
    by_votes = np.argsort(-counts, kind="stable")
    values = [{"value": single.values[i], "votes": int(counts[i])} for i in by_votes]
    return {
        "tag": tag,
        "votes": len(votes),
        "values": values,
        "matters": tag_matters(log_e),
        "evidence": math.exp(min(log_e, _MOST_LOG)),
        "statement": _statement(tag, log_e),
        "shares": [asdict(each) for each in option_shares(single)],
        "reversed": [asdict(each) for each in found],
        "remarks": [_reversal(tag, each) for each in found] + _limits(votes, changed_often),
    }


def _statement(tag: str, log_e: float) -> str:
    """Return the sentence about the whole tag."""
    ratio = short(math.exp(log_e)) if log_e < _MOST_LOG else "more than a million"
    evidence = f"evidence {ratio} to 1; {1 / ALPHA:.0f} is required"
    if tag_matters(log_e):
        return (
            f"Preferences depend on {code(tag)} ({evidence}; error at most {share(ALPHA)} for this "
            f"tag, however often this is read, if each pair changed at most once)."
        )
    return f"No difference between the values of {code(tag)} is established ({evidence})."


def _reversal(tag: str, row: ReversedPair) -> str:
    """Return the warning about one reversed pair."""
    return (
        f"Reversed for {tag} = {row.value}: {row.worse} is preferred to {row.better} there "
        f"({share(1 - row.share)} of {row.votes:,} votes, shrunk; probability "
        f"{share(row.probability)}), and {row.better} overall ({share(row.overall)})."
    )


def _limits(votes: TaggedVotes, changed_often: Collection[tuple[int, int]]) -> list[str]:
    """Return the assumptions of the statement, and the limits of the descriptions."""
    limits = [
        "The statement assumes that votes are independent given pair, value and time, that the "
        "value does not depend on the pick, and that each pair changed at most once; after more "
        "changes, values that were asked at different times can look different."
    ]
    if votes.joined is None:
        limits.append(
            "It also assumes that the set of options was fixed before the first vote; an arena "
            "export records later ones."
        )
    if changed_often:
        limits.append(
            f"{counted(len(changed_often), 'pair')} with more than one certified change "
            f"{'adds' if len(changed_often) == 1 else 'add'} nothing to the evidence."
        )
    limits.append(
        "Shares are shrunk towards the whole; their intervals and the reversed pairs describe all "
        "votes together, without an error rate for all of them."
    )
    return limits
