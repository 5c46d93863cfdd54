"""The arena's slow, obvious twin: reads a log with plain dictionaries, knows nothing of `State`.

The policy is made again by `driftduel.policies.fold`, which is other code than the arena's.
"""

from collections import Counter
from dataclasses import dataclass, field

from driftduel.policies import Event, EventLog, Policy, fold, make_policy


@dataclass
class Audit:
    """What a log says."""

    wins: Counter = field(default_factory=Counter)
    ties: Counter = field(default_factory=Counter)
    skips: Counter = field(default_factory=Counter)
    votes: int = 0
    late: int = 0
    uncounted: int = 0
    policy: Policy | None = None


def audit(records, seed):
    """Read a whole log; `seed` is that of its policy."""
    opened = records[0].body
    settings = opened["settings"]
    arms = {name: arm for arm, name in enumerate(opened["options"])}
    log = EventLog()
    said, asked, voted, settled = Audit(), {}, {}, []
    for place, record in enumerate(records, start=1):
        assert record.seq == place
        body, ref = record.body, record.body.get("ref")
        if record.kind == "asked":
            first, second = body["pair"]
            asked[ref] = first, second, body.get("left")  # a slate has cards
            log.append(Event("asked", ref, first, second, notes=tuple(body.get("notes", ()))))
            if first == second:
                log.append(Event("told", ref, first))
        elif record.kind == "voted" and not body.get("late"):
            assert ref not in voted, "two votes on one duel"
            voted[ref] = body
        elif record.kind == "voted":
            said.late += 1
        elif record.kind == "undone":
            del voted[ref]
        elif record.kind == "told":
            first, second, left = asked[ref]
            if left is None:
                log.append(_answer_to_slate(ref, voted[ref]))
                continue
            right = first + second - left
            pick = voted[ref]["pick"]
            settled.append((ref, pick, left, right))
            if pick in ("tie", "both-bad"):
                log.append(Event("tied", ref))
            else:
                log.append(Event("told", ref, left if pick == "left" else right))
        elif record.kind == "forgot":
            said.uncounted += ref in voted and voted[ref]["pick"] != "skip"
            log.append(Event("forgotten", ref))
        elif record.kind in ("joined", "left"):
            arm = arms.setdefault(body["option"], len(arms))
            log.append(Event(record.kind, arm=arm))
    order = settings["order"]
    _count(said, settled, log, order)
    for body in voted.values():
        if body["pick"] == "skip":
            said.skips[frozenset(body["shown"])] += 1
        else:
            said.votes += 1
    policy = make_policy(
        settings["policy"], len(opened["options"]), seed,
        order=order, ties=settings["ties"], mode=settings["mode"],
    )  # fmt: skip
    said.policy = fold(policy, log)
    return said


def _answer_to_slate(ref, vote):
    if vote["pick"] != "ranked":
        return Event("tied", ref)
    if len(vote["ranking"]) == 1:
        return Event("told", ref, vote["ranking"][0])
    return Event("ranked", ref, notes=tuple(map(float, vote["ranking"])))


def _count(said, settled, log, order):
    """Count the told votes; in the order of asking, up to the first duel that is not settled."""
    done = {event.round for event in log if event.kind in ("told", "tied", "forgotten")}
    asked = max((event.round for event in log if event.kind == "asked"), default=0)
    upto = next((t for t in range(1, asked + 1) if t not in done), asked + 1)
    for ref, pick, left, right in settled:
        if order == "asked" and ref >= upto:
            continue
        if pick in ("tie", "both-bad"):
            said.ties[frozenset((left, right))] += 1
        else:
            said.wins[(left, right) if pick == "left" else (right, left)] += 1
