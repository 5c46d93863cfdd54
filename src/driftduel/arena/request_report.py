"""Whether features of requests matter, for the board: the evidence of `driftduel.logs`."""

import math

import msgspec

from driftduel.arena.board_fields import FeatureEvidence
from driftduel.arena.sentences import FEWEST_VOTES
from driftduel.arena.vote_table import VoteTable
from driftduel.evidence import ALPHA

__all__ = ["EvidenceReader"]

_GROWTH = 10  # a look has at least a tenth more votes than the one before
_MOST_LOG = math.log(1e6)


def _look(votes: int) -> int:
    """Return the number of votes at the last look: looks are at 50 votes, and 10% more each."""
    look = FEWEST_VOTES
    while (following := look + -(-look // _GROWTH)) <= votes:
        look = following
    return look if votes >= FEWEST_VOTES else 0


class EvidenceReader:
    """The evidence at the last look, computed again when a look adds votes or a vote is voided."""

    def __init__(self) -> None:
        self._known: tuple[bytes, FeatureEvidence] | None = None

    def read(self, table: VoteTable) -> FeatureEvidence | None:
        """Return the evidence from a table of votes; None without features.

        It is a function of the log: looks are at fixed numbers of votes. The evidence is valid at
        all of them together.
        """
        features = table.features
        if not features:
            return None
        rows = table.request_rows()
        look = _look(len(rows))
        if not look:
            return FeatureEvidence(len(rows), 0, False, 1.0, 1 / ALPHA, [])
        key = rows[:look].tobytes()
        if self._known is None or self._known[0] != key:
            self._known = key, _evidence(table, look)
        return msgspec.structs.replace(self._known[1], votes=len(rows))


def _evidence(table: VoteTable, look: int) -> FeatureEvidence:
    """Return the evidence of the first votes."""
    from driftduel.logs import feature_evidence

    found = feature_evidence(table.request_votes(look))
    which = [
        feature.name
        for feature, claimed in zip(table.features.features, found.which, strict=True)
        if claimed
    ]
    e = math.exp(min(found.largest, _MOST_LOG))
    return FeatureEvidence(look, look, found.matters, e, 1 / ALPHA, which)
