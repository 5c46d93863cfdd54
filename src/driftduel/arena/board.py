"""What an arena says of itself at one moment: as plain data, in a terminal and in a notebook."""

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from textwrap import wrap
from typing import Any

from driftduel._tables import fitted
from driftduel.arena.bias import left_share
from driftduel.arena.folding import latest
from driftduel.arena.ranking import History, ranked
from driftduel.arena.said import Option, option_of
from driftduel.arena.sentences import clean, guarantee, sentences, warnings
from driftduel.arena.state import State
from driftduel.arena.stores import Store
from driftduel.wording import counted, decimals, duration, interval, number, share, whole

__all__ = ["Board", "board_in", "board_of", "noted"]

_WIDTH = 80
Plain = dict[str, Any]
Cells = list[tuple[str, ...]]


class Board:
    """Who leads, how sure that is, what changed.

    Parameters
    ----------
    data
        All of it, as numbers, strings, lists and mappings.
    """

    def __init__(self, data: Plain) -> None:
        self.data = data

    def to_json(self) -> Plain:
        """Return it as plain data: no NaN, no infinity, nothing that JSON cannot say."""
        return self.data

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def __str__(self) -> str:
        says, parts = self.data["says"], []
        head = f"{clean(self.data['arena'])} ({self.data['policy']}, {self.data['mode']} mode)"
        since = self.data["since"]
        when = "" if since is None else f"Since {_time(since['at'])}."
        parts.append([head, *_folded(says["claim"], says["doubt"], when)])
        parts += [_folded(warning) for warning in self.data["warnings"]]
        for title, columns, right, rows in self._tables():
            body = fitted(rows, columns, right, (), _WIDTH)
            parts.append([*_folded(title), *body.text.split("\n")])
        parts.append(_folded(says["challenger"], says["changes"], says["left"]))
        parts += [_folded(sentence) for sentence in says["lanes"]]
        parts.append(_folded(self._counts(), self.data["guarantee"]))
        return "\n\n".join("\n".join(part) for part in parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        says = self.data["says"]
        since = self.data["since"]
        when = "" if since is None else f" Since {_time(since['at'])}."
        head = f"{says['claim']} {says['doubt']}{when}"
        above = [f"<p><strong>{escape(head)}</strong></p>", *map(_p, self.data["warnings"])]
        tables = [
            f"{_p(title)}<table><thead>{_tr(columns, 'th')}</thead><tbody>"
            f"{''.join(_tr(row, 'td') for row in rows)}</tbody></table>"
            for title, columns, _, rows in self._tables()
        ]
        below = [says["challenger"], says["changes"], says["left"], *says["lanes"]]
        below += [self._counts(), self.data["guarantee"]]
        return "".join([*above, *tables, *map(_p, below)])

    def _tables(self) -> Iterable[tuple[str, tuple[str, ...], str, Cells]]:
        """Return each table's title, columns, those to the right, and rows."""
        data = self.data
        if data["evidence"]:
            yield (
                "Evidence that the leader wins more than half, since it began to lead:",
                ("against", "won", "lost", "evidence", "needed"),
                "1234",
                [
                    (
                        clean(rival["name"]),
                        whole(rival["wins"]),
                        whole(rival["losses"]),
                        _large(rival["e"]),
                        _large(rival["needed"]),
                    )
                    for rival in data["evidence"]
                ],
            )
        there = sorted((o for o in data["options"] if o["present"]), key=lambda o: o["rank"])
        yield (
            data["says"]["ranking"],
            ("rank", "option", "strength", "95% band", "won", "duels"),
            "02345",
            [
                (
                    whole(option["rank"]),
                    clean(option["name"]),
                    share(option["strength"]),
                    interval(option["low"], option["high"], share),
                    whole(option["wins"]),
                    whole(option["votes"]),
                )
                for option in there
            ],
        )
        if len(data["lanes"]) > 1:
            yield (
                "Policies side by side, and what a duel costs those who vote:",
                ("policy", "votes", "leader", "loss", "95% interval"),
                "134",
                [
                    (
                        lane["policy"],
                        whole(lane["votes"]),
                        clean(lane["leader"]["name"]) if lane["leader"] else "nobody",
                        decimals(lane["loss"], 3),
                        interval(lane["low"], lane["high"], lambda x: decimals(x, 3)),
                    )
                    for lane in data["lanes"]
                ],
            )

    def _counts(self) -> str:
        data = self.data
        voters = counted(data["voters"], "voter")
        said = [
            f"{counted(data['votes'], 'vote')} of {voters}" if data["voters"]
            else counted(data["votes"], "vote"),
            f"{whole(data['counted'])} learned",
            *(
                f"{counted(data[key], *names)}"
                for key, names in (("ties", ("tie",)), ("skips", ("skip",)))
                if data[key]
            ),
            *(f"{whole(data[key])} {key}" for key in ("late", "uncounted", "voided") if data[key]),
            f"{counted(data['open'], 'duel')} open",
        ]  # fmt: skip
        late = data["lateness"]
        times = (
            "" if late["median"] is None
            else f" Half of the answers took at most {duration(late['median'])}, nine of ten at "
            f"most {duration(late['p90'])}."
        )  # fmt: skip
        return f"{', '.join(said)}.{times}"


def board_of(name: str, state: State, options: Sequence[Option]) -> Board:
    """Return what there is to say of an arena.

    Parameters
    ----------
    name
        The arena's.
    state
        What it knows.
    options
        Every option that ever was; any order.
    """
    return noted(name, state, options)()


def noted(name: str, state: State, options: Sequence[Option]) -> Callable[[], Board]:
    """Note what a board needs of a state, which may then go on; return who makes it of that.

    Strengths are fitted, which takes long where there are many options, and nobody has to wait
    for it with a vote.
    """
    tally, settings, policy = state.tally, state.settings, state.lanes[0].policy
    names = {option.id: option.name for option in options}
    refs = [{"id": each, "name": names.get(each, each)} for each in state.ids]

    def ref(arm: int | None) -> Plain | None:
        return None if arm is None else dict(refs[arm])

    reign, left = tally.reign, left_share(tally.lefts, tally.rights)
    nearest = next(iter(policy.contest().challengers or ()), None)
    data: Plain = {
        "arena": name,
        "mode": settings.mode,
        "policy": settings.lanes[0].spec,
        "order": settings.order,
        "seed": settings.seed,
        "seq": state.seq,
        "at": state.at,
        "closed": state.closed,
        "leader": None if reign is None else ref(reign.leader),
        "since": None if reign is None
        else {"seq": reign.seq, "at": reign.at, "votes": reign.votes},
        "sure": tally.sure(state.present),
        "evidence": [] if reign is None else [
            {**refs[one.rival], "wins": one.wins, "losses": one.losses, "e": one.e,
             "needed": one.needed}
            for one in reign.evidence(state.present)
        ],
        "challenger": {**refs[nearest.arm], "share": nearest.share}
        if nearest is not None and nearest.share > 0 else None,
        "votes": tally.votes,
        "counted": tally.counted,
        "ties": tally.ties,
        "skips": tally.skips,
        "late": tally.late,
        "uncounted": tally.uncounted,
        "voided": tally.voided,
        "open": len(state.open),
        "held": len(state.voted) + len(state.held),
        "voters": tally.voters.voters,
        "options": _options(refs, state),
        "changes": [
            {**change, "from": ref(change["from"]), "to": ref(change["to"])}
            for change in tally.changes
        ],
        "crownings": tally.crownings,
        "alarms": tally.alarms,
        "false_alarms_at_most": policy.false_alarms_at_most(),
        "pairs": {
            "ids": list(state.ids),
            "wins": tally.wins.tolist(),
            "ties": tally.tied.tolist(),
            "skips": tally.skipped.tolist(),
        },
        "history": {},
        "left": {"share": left.share, "low": left.low, "high": left.high},
        "lateness": {"median": tally.lateness.quantile(0.5), "p90": tally.lateness.quantile(0.9)},
        "votes_a_voter": {"median": tally.voters.median, "most": tally.voters.most},
        "lanes": [
            {"policy": lane.spec, "weight": lane.weight, "votes": int(votes),
             "leader": ref(state.lanes[number].policy.best()),
             "loss": found.loss, "low": found.low, "high": found.high}
            for number, (lane, votes, found) in enumerate(
                zip(settings.lanes, tally.lanes.votes, tally.lanes.losses(), strict=True)
            )
        ],
    }  # fmt: skip
    lanes = tally.lanes.says([lane.spec for lane in settings.lanes])
    wins, present, ids = tally.window.wins.copy(), state.present, list(state.ids)
    history = tally.history.copy()

    def make() -> Board:
        ranking = ranked(wins, present)
        for arm, option in enumerate(data["options"]):
            option |= {
                "rank": int(ranking.place[arm]) or None,
                "strength": _or_none(ranking.strength[arm]),
                "low": _or_none(ranking.low[arm]),
                "high": _or_none(ranking.high[arm]),
            }
        data["history"] = _lines(history, ids)
        data["says"] = sentences(data)
        data["says"]["lanes"] = lanes
        data["guarantee"] = guarantee(data)
        data["warnings"] = warnings(data)
        return Board(data)

    return make


def board_in(store: Store, arena: str) -> Board:
    """Return an arena's board from its log, whoever has the arena in hand."""
    state, _ = latest(store, arena)
    texts = {text.id: text for text in store.options(arena)}
    return board_of(arena, state, [option_of(state, texts, known_as) for known_as in state.ids])


def _options(refs: list[Plain], state: State) -> list[Plain]:
    """Return each option with its votes."""
    tally = state.tally
    met = tally.wins.sum(axis=0) + tally.wins.sum(axis=1) + tally.tied.sum(axis=1)
    return [
        {
            **refs[arm],
            "present": arm in state.present,
            "votes": int(met[arm]),
            "wins": int(tally.wins[arm].sum()),
        }
        for arm in range(len(refs))
    ]


def _lines(history: History, ids: list[str]) -> Plain:
    """Return how strengths went, each line with the option's id."""
    lines = history.lines(len(ids))
    lines["series"] = [
        {"id": known_as, **line} for known_as, line in zip(ids, lines["series"], strict=True)
    ]
    return lines


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _large(value: float) -> str:
    """Write evidence; beyond a million nobody wants the digits."""
    return number(value) if value < 1e6 else "over a million"


def _time(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _folded(*texts: str) -> list[str]:
    """Fold paragraphs at the width of a terminal."""
    return [line for text in texts for line in wrap(text, _WIDTH)]


def _p(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _tr(cells: Iterable[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
