"""The board of an arena at one moment: a Python object with JSON, text and HTML representations."""

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from textwrap import wrap
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from driftduel._internal.text_tables import fitted
from driftduel._internal.wording import counted, duration, interval, number, share, whole
from driftduel.arena.bias import left_share
from driftduel.arena.board_fields import (
    Answers,
    CategoryLeader,
    CertifiedChange,
    Fields,
    ItemCounts,
    JudgeAgreement,
    LeaderChange,
    LeftShare,
    Line,
    NearestChallenger,
    OptionName,
    OptionPrice,
    Pairs,
    RankedOption,
    RequestReport,
    RivalEvidence,
    Sentences,
    Since,
    StrengthHistory,
    TagFilter,
    VotesPerVoter,
)
from driftduel.arena.evidence import certainty_needs, votes_until_sure
from driftduel.arena.judge_agreement import AgreementCounter
from driftduel.arena.ranking import History, WindowVote, pairs_of, rank_options, wins_of
from driftduel.arena.replay import load_state
from driftduel.arena.request_report import EvidenceReader
from driftduel.arena.responses import Option, option_of
from driftduel.arena.sentences import clean, guarantee, judge_sentence, sentences, warnings
from driftduel.arena.state import ArenaState
from driftduel.arena.stores import ArenaStore
from driftduel.arena.tags import parse_tag
from driftduel.arena.vote_table import VoteSubset, VoteTable
from driftduel.evidence import ALPHA
from driftduel.policies import RequestPolicy

__all__ = ["Board", "add_evidence", "board_of", "load_board", "snapshot_board"]

_WIDTH = 80
_FEW_PICKS = 30
_NO_SENTENCES = Sentences("", "", "", "", "", "", "", "")
Cells = list[tuple[str, ...]]


class Board(Fields, frozen=True, kw_only=True):
    """The leader, the evidence for it, and the changes. Instances are immutable.

    Fields can be read as attributes or by key (``board.leader``, ``board["leader"]``); JSON, the
    HTTP interface and webhooks use the same names. Votes are numbered in the order of learning.
    """

    arena: str
    """Name of the arena."""
    filter: TagFilter | None = None
    """The tag to which ranking and pairs are limited; such a board has no leader and no claim."""
    leader: OptionName | None
    """The policy's best guess; null before the first learned vote."""
    sure: bool
    """Whether the evidence against every present rival is enough now."""
    claim: str
    """Population of the statements: ``voters`` or ``judges``."""
    evidence_of: str = "all"
    """Votes that are evidence: ``all``, or ``people`` without those of automatic judges."""
    items: ItemCounts | None = None
    """Number of present and retired items, and how evenly they were shown; null without items."""
    judges: list[JudgeAgreement] = msgspec.field(default_factory=list)
    """Automatic judges: agreement with people on shared pairs and items, and position bias."""
    prices: list[OptionPrice] = msgspec.field(default_factory=list)
    """The price of each option in log-odds; empty for a policy that takes none."""
    requests: RequestReport | None = None
    """Features of the requests, whether they matter, leaders by category; null without features."""
    since: Since | None
    """When the leader took the lead."""
    stretch: int
    """Number of the stretch of evidence; a change of the leader or a departure starts one."""
    evidence: list[RivalEvidence]
    """The evidence of this stretch against each present rival."""
    counted_voters: int
    """Distinct voters in this evidence; with ``judges`` the number of counted votes."""
    voters_required: int
    """Minimum number of voters on each pair with which this stretch can become sure."""
    votes_needed: int | None
    """Estimated number of votes until sure if preferences stay as they are; 0 if sure; null if
    there is no estimate."""
    challenger: NearestChallenger | None
    """The rival closest to taking the lead, with its ``share`` of the required evidence or its
    odds."""
    votes: int
    """Votes that arrived in time, with ties and without skips."""
    learned: int
    """Votes that the policy has learned and that were not voided."""
    waiting: int
    """Votes that can still be undone or wait for earlier duels."""
    held: int
    """Votes that wait for earlier duels without an answer."""
    held_by: int
    """The number of these duels."""
    lease: float
    """Seconds after which such a duel is given up unless its lease is renewed."""
    imported: int
    """Past votes that the arena started from."""
    ties: int
    """Votes without a preference."""
    both_bad: int = 0
    """Votes that neither option is good; they count as ties for everything else."""
    skips: int
    """Duels that voters skipped."""
    late: int
    """Votes after the lease of their duel."""
    uncounted: int
    """Votes of one voter on one pair beyond the daily cap."""
    voided: int
    """Votes taken out by the owner."""
    open: int
    """Duels without an answer."""
    voters: int
    """Distinct voters; all votes without a voter id from one source are one voter."""
    ranking: list[RankedOption]
    """All options, with those that left, in the order of joining."""
    ranking_votes: int
    """Number of votes that ranking and pairs describe."""
    changes: list[LeaderChange]
    """The last changes of the leader, oldest first."""
    lead_changes: int
    """Number of changes of the leader."""
    certified_changes: list[CertifiedChange]
    """Certified changes of preferences, oldest first. Each has ``before``, ``after`` (names),
    ``from_vote``, ``to_vote``, ``level``."""
    alarms: int
    """Number of alarms."""
    false_alarms_at_most: float | None
    """Bound on the expected number of alarms if no challenger was better than the leader it met;
    null for policies without a bound."""
    pairs: Pairs
    """Wins and ties of these votes by pair, rows over columns; skips since the arena was opened."""
    history: StrengthHistory
    """Strengths over time: ``votes``, ``at`` and a series per option."""
    left: LeftShare
    """Share of picks on the left, with bounds that hold at all times (null below 30 picks)."""
    lateness: Answers
    """Seconds to answer: median and 90% quantile."""
    votes_per_voter: VotesPerVoter
    """Median and maximum."""
    mode: str
    """``panel`` or ``serve``."""
    policy: str
    """Spec of the policy."""
    order: str
    """``asked`` or ``arrival``."""
    seed: int
    """Seed of the arena."""
    show: int | UnsetType = UNSET
    """Number of options shown at once in an arena with slates; absent in one with duels."""
    seq: int
    """Last record of the log."""
    at: int
    """Its time, in milliseconds since 1970."""
    closed: bool
    """Whether the arena is closed."""
    says: Sentences
    """The sentences: ``claim``, ``doubt``, ``waiting``, ``challenger``, ``certified``, ``changes``,
    ``ranking``, ``left``, ``requests``."""
    guarantee: str
    """The guarantee, with its assumption."""
    warnings: list[str]
    """Limits of the validity of the board."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data that JSON can represent."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain

    def __str__(self) -> str:
        says, parts = self.says, []
        head = f"{clean(self.arena)} ({self.policy}, {self.mode} mode)"
        when = "" if self.since is None else f"Since {_time(self.since.at)}."
        parts.append([head, *_wrap(says.claim, says.doubt, when, says.waiting)])
        parts.append(_wrap(says.requests))
        parts += [_wrap(warning) for warning in self.warnings]
        for title, columns, right, rows in self._tables():
            body = fitted(rows, columns, right, (), _WIDTH)
            parts.append([*_wrap(title), *body.text.split("\n")])
        parts.append(_wrap(says.challenger, says.certified, says.changes, says.left))
        parts += [_wrap(judge_sentence(judge)) for judge in self.judges]
        parts.append(_wrap(self._counts(), self.guarantee))
        return "\n\n".join("\n".join(part) for part in parts if part)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        says = self.says
        when = "" if self.since is None else f" Since {_time(self.since.at)}."
        head = f"{says.claim} {says.doubt}{when}"
        notes = [text for text in (says.waiting, says.requests) if text]
        above = [f"<p><strong>{escape(head)}</strong></p>", *map(_p, notes + self.warnings)]
        tables = [
            f"{_p(title)}<table><thead>{_tr(columns, 'th')}</thead><tbody>"
            f"{''.join(_tr(row, 'td') for row in rows)}</tbody></table>"
            for title, columns, _, rows in self._tables()
        ]
        below = [says.challenger, says.certified, says.changes, says.left]
        below += [*map(judge_sentence, self.judges), self._counts(), self.guarantee]
        return "".join([*above, *tables, *map(_p, below)])

    def _tables(self) -> Iterable[tuple[str, tuple[str, ...], str, Cells]]:
        """Yield a tuple per table: title, columns, indices of right-aligned columns, and rows."""
        if self.evidence:
            yield (
                "Counted votes between the leader and each rival, and the evidence:",
                ("against", "won", "lost", "evidence", "needed"),
                "1234",
                [
                    (
                        clean(rival.name),
                        whole(rival.wins),
                        whole(rival.losses),
                        _large(rival.e),
                        _large(rival.needed),
                    )
                    for rival in self.evidence
                ],
            )
        present = sorted((each for each in self.ranking if each.present), key=lambda x: x.rank or 0)
        yield (
            self.says.ranking,
            ("rank", "option", "strength", "95% band", "won", "duels"),
            "02345",
            [
                (
                    whole(option.rank),
                    clean(option.name),
                    share(option.strength),
                    interval(option.low, option.high, share),
                    whole(option.wins),
                    whole(option.duels),
                )
                for option in present
            ],
        )

    def _counts(self) -> str:
        parts = [
            f"{counted(self.votes, 'vote')} of {counted(self.voters, 'voter')}"
            if self.voters else counted(self.votes, "vote"),
            f"{whole(self.learned)} learned",
            *(
                counted(count, word)
                for count, word in (
                    (self.ties, "tie"), (self.both_bad, "“both bad”"), (self.skips, "skip")
                )
                if count
            ),
            *(f"{whole(self[key])} {key}" for key in ("late", "uncounted", "voided") if self[key]),
            f"{counted(self.open, 'duel')} open",
        ]  # fmt: skip
        late = self.lateness
        times = (
            "" if late.median is None
            else f" Half of the answers took at most {duration(late.median)}, nine of ten at "
            f"most {duration(late.p90)}."
        )  # fmt: skip
        return f"{', '.join(parts)}.{times}"


def board_of(
    name: str, state: ArenaState, options: Sequence[Option], subset: VoteSubset | None = None
) -> Board:
    """Return the board of an arena.

    Parameters
    ----------
    name
        Name of the arena.
    state
        Its state.
    options
        All options, with those that left; in any order.
    subset
        Limit ranking and pairs to these votes; the board then has no leader and no claim.
    """
    return snapshot_board(name, state, options, subset)()


def snapshot_board(
    name: str, state: ArenaState, options: Sequence[Option], subset: VoteSubset | None = None
) -> Callable[[], Board]:
    """Copy the values that a board needs; return a function that builds the board.

    The state may change afterwards. Fitting strengths is slow with many options, so the caller
    releases the arena's lock before it calls the function.
    """
    tally, settings, policy, pool = state.tally, state.settings, state.policy, state.pool
    names = {option.id: option.name for option in options}
    refs = [OptionName(each, names.get(each, each)) for each in state.ids]

    def ref(arm: int | None) -> OptionName | None:
        return None if arm is None else refs[arm]

    # Before the first vote the policy's best guess is arbitrary.
    stretch = tally.stretch if tally.counted or tally.heard else None
    left = left_share(tally.lefts, tally.rights)
    many_picks = tally.lefts + tally.rights >= _FEW_PICKS
    nearest = next(iter(policy.contest().challengers or ()), None)
    found = [] if stretch is None else stretch.evidence(state.present)
    held, held_by = state.waiting()
    fields: dict[str, Any] = {
        "arena": name,
        "leader": None if stretch is None else refs[stretch.leader],
        "sure": stretch is not None and stretch.is_sure(state.present),
        "claim": settings.claim,
        "evidence_of": settings.evidence,
        "items": None if pool is None else ItemCounts(
            pool.present, len(pool) - pool.present, settings.balance, *pool.extent()
        ),
        "prices": [
            OptionPrice(*_id_and_name(option), price)
            for option, price in zip(refs, state.prices or (), strict=False)
        ],
        "requests": _request_report(state, refs),
        "since": None if stretch is None else Since(*tally.since),
        "stretch": 0 if stretch is None else stretch.number,
        "evidence": [
            RivalEvidence(*_id_and_name(refs[one.rival]), one.wins, one.losses, one.e, one.needed)
            for one in found
        ],
        "counted_voters": 0 if stretch is None else stretch.voters(state.present),
        "voters_required": certainty_needs(1 if stretch is None else stretch.number),
        "challenger": NearestChallenger(*_id_and_name(refs[nearest.arm]), nearest.share)
        if nearest is not None and nearest.share > 0 else None,
        "votes": tally.votes,
        "learned": tally.counted,
        "waiting": len(state.voted) + len(state.held),
        "held": held,
        "held_by": held_by,
        "lease": settings.lease,
        "imported": tally.heard,
        "ties": tally.ties,
        "both_bad": tally.both_bad,
        "skips": tally.skips,
        "late": tally.late,
        "uncounted": tally.uncounted,
        "voided": tally.voided,
        "open": len(state.open),
        "voters": tally.voters.voters,
        "changes": [
            LeaderChange(**{**each, "before": ref(each["before"]), "after": ref(each["after"])})
            for each in tally.changes
        ],
        "lead_changes": tally.crownings,
        "certified_changes": [
            CertifiedChange(
                before=refs[each["before"]].name,
                after=refs[each["after"]].name,
                from_vote=each["from_vote"],
                to_vote=each["to_vote"],
                level=ALPHA,
                before_id=refs[each["before"]].id,
                after_id=refs[each["after"]].id,
                seq=each["seq"],
                at=each["at"],
            )
            for each in tally.certified
        ],
        "alarms": tally.alarms,
        "false_alarms_at_most": policy.false_alarms_at_most(),
        "left": LeftShare(
            left.share, left.low if many_picks else None, left.high if many_picks else None
        ),
        "lateness": Answers(tally.lateness.quantile(0.5), tally.lateness.quantile(0.9)),
        "votes_per_voter": VotesPerVoter(tally.voters.median, tally.voters.most),
        "mode": settings.mode,
        "policy": settings.policy,
        "order": settings.order,
        "seed": settings.seed,
        "show": settings.show if settings.has_slates else UNSET,
        "seq": state.seq,
        "at": state.at,
        "closed": state.closed,
    }  # fmt: skip
    wins, present, ids = tally.window.wins.copy(), state.present, list(state.ids)
    votes, history, skips = list(tally.window.votes), tally.history.copy(), tally.skipped.tolist()
    totals = tally.wins.copy(), tally.tied.copy()
    learned = 0 if stretch is None else tally.number - stretch.vote

    def make() -> Board:
        pairs = _pairs(votes, ids, skips)
        board = Board(
            **fields,
            votes_needed=votes_until_sure(found, learned),
            ranking=_ranking(refs, wins, present, pairs, *totals),
            ranking_votes=len(votes),
            pairs=pairs,
            history=_lines(history, ids),
            says=_NO_SENTENCES,
            guarantee="",
            warnings=[],
        )
        if subset is not None:
            board = _filtered(board, subset, wins, present, votes)
        board = msgspec.structs.replace(board, says=sentences(board))
        return msgspec.structs.replace(board, guarantee=guarantee(board), warnings=warnings(board))

    return make


def _filtered(
    board: Board,
    subset: VoteSubset,
    wins: np.ndarray[Any, Any],
    present: tuple[int, ...],
    votes: Sequence[WindowVote],
) -> Board:
    """Return a board whose ranking and pairs describe some votes, without leader and claims."""
    chosen = [vote for vote in votes if vote[-1] in subset.refs]
    pairs = _pairs(chosen, board.pairs.ids, np.zeros_like(wins, np.int64).tolist())
    shares = wins_of(chosen, len(wins))
    refs = [OptionName(option.id, option.name) for option in board.ranking]
    K = len(refs)
    totals = [np.pad(each, (0, K - len(each))) for each in (subset.wins, subset.ties)]
    empty = StrengthHistory([], [], [Line(option.id, [], [], []) for option in refs])
    return msgspec.structs.replace(
        board,
        filter=TagFilter(subset.tag, subset.value, len(subset.refs)),
        leader=None, sure=False, since=None, stretch=0, evidence=[], counted_voters=0,
        votes_needed=None, challenger=None, changes=[], lead_changes=0, certified_changes=[],
        alarms=0, requests=None, prices=[], ranking=_ranking(refs, shares, present, pairs, *totals),
        ranking_votes=len(chosen), pairs=pairs, history=empty,
    )  # fmt: skip


def load_board(store: ArenaStore, arena: str, tag: str | None = None) -> Board:
    """Return the board of an arena from its log; works while another process owns the arena.

    Parameters
    ----------
    store, arena
        The store, and the name of the arena.
    tag
        ``KEY:VALUE``: limit ranking and pairs to the votes with this tag.
    """
    state, _ = load_state(store, arena)
    texts = {text.id: text for text in store.options(arena)}
    options = [option_of(state, texts, option_id) for option_id in state.ids]
    subset = None if tag is None else VoteTable(store, arena).update().subset(*parse_tag(tag))
    board = board_of(arena, state, options, subset)
    if state.features and subset is None:
        board = add_evidence(board, EvidenceReader(), VoteTable(store, arena).update())
    if not state.tally.judged:
        return board
    counter = AgreementCounter()
    counter.read(store, arena)
    return msgspec.structs.replace(board, judges=counter.agreements())


def add_evidence(board: Board, reader: EvidenceReader, table: VoteTable) -> Board:
    """Return the board of an arena with features with the evidence that they matter."""
    assert board.requests is not None
    requests = msgspec.structs.replace(board.requests, evidence=reader.read(table))
    board = msgspec.structs.replace(board, requests=requests)
    return msgspec.structs.replace(board, says=sentences(board))


def _request_report(state: ArenaState, refs: list[OptionName]) -> RequestReport | None:
    """Return the leaders by category; None without features."""
    if state.means is None:
        return None
    leaders = []
    if isinstance(state.policy, RequestPolicy) and state.takes_requests:
        for feature, value, requests, mean in state.means.rows():
            best = refs[state.policy.best_on_average(mean)] if requests else None
            leaders.append(CategoryLeader(feature, value, requests, best))
    features = list(state.features.features)
    return RequestReport(features, state.takes_requests, leaders)


def _id_and_name(option: OptionName) -> tuple[str, str]:
    return option.id, option.name


def _pairs(votes: Sequence[WindowVote], ids: list[str], skips: list[list[int]]) -> Pairs:
    """Count votes by pair; return matrices as lists of rows. A slate counts on several pairs."""
    wins, ties = (np.zeros((len(ids), len(ids)), np.int64) for _ in range(2))
    for first, second, won, _ in (pair for vote in votes for pair in pairs_of(vote)):
        if won < 0:
            ties[first, second] += 1
            ties[second, first] += 1
        else:
            wins[(first, second) if won else (second, first)] += 1
    return Pairs(ids, wins.tolist(), ties.tolist(), skips)


def _ranking(
    refs: list[OptionName],
    wins: np.ndarray[Any, Any],
    present: tuple[int, ...],
    pairs: Pairs,
    total_wins: np.ndarray[Any, Any],
    total_ties: np.ndarray[Any, Any],
) -> list[RankedOption]:
    """Return each option with its strength and its counts."""
    fit = rank_options(wins, present)
    won, tied = np.array(pairs.wins), np.array(pairs.ties)
    duels = won.sum(axis=0) + won.sum(axis=1) + tied.sum(axis=1)
    total_duels = total_wins.sum(axis=0) + total_wins.sum(axis=1) + total_ties.sum(axis=1)
    return [
        RankedOption(
            *_id_and_name(option),
            present=arm in present,
            rank=int(fit.place[arm]) or None,
            strength=_or_none(fit.strength[arm]),
            low=_or_none(fit.low[arm]),
            high=_or_none(fit.high[arm]),
            wins=int(won[arm].sum()),
            duels=int(duels[arm]),
            total_wins=int(total_wins[arm].sum()),
            total_duels=int(total_duels[arm]),
        )
        for arm, option in enumerate(refs)
    ]


def _lines(history: History, ids: list[str]) -> StrengthHistory:
    """Return strengths over time, one line per option id."""
    lines = history.lines(len(ids))
    series = [Line(option_id, **line) for option_id, line in zip(ids, lines["series"], strict=True)]
    return StrengthHistory(lines["votes"], lines["at"], series)


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _large(value: float) -> str:
    """Format an e-value; digits of values beyond a million carry no information."""
    return number(value) if value < 1e6 else "over a million"


def _time(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _wrap(*texts: str) -> list[str]:
    """Wrap paragraphs to the width of a terminal."""
    return [line for text in texts for line in wrap(text, _WIDTH)]


def _p(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _tr(cells: Iterable[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
