"""The arena's slow, obvious twin: reads a log with plain dictionaries, knows nothing of `State`.

Policies are made again by `driftduel.policies.fold`, which is other code than the arena's lanes.
"""

from collections import Counter
from dataclasses import dataclass, field

from driftduel.policies import Event, Log, fold, make_policy

LANE = 1 << 40


@dataclass
class Audit:
    """What a log says."""

    wins: Counter = field(default_factory=Counter)
    ties: Counter = field(default_factory=Counter)
    skips: Counter = field(default_factory=Counter)
    votes: int = 0
    late: int = 0
    uncounted: int = 0
    policies: list = field(default_factory=list)


def audit(records, seeds):
    """Read a whole log; `seeds` are those of its lanes."""
    opened = records[0].body
    settings = opened["settings"]
    arms = {name: arm for arm, name in enumerate(opened["options"])}
    logs = [Log() for _ in settings["lanes"]]
    said, asked, voted, settled = Audit(), {}, {}, []
    for place, record in enumerate(records, start=1):
        assert record.seq == place
        body, ref = record.body, record.body.get("ref")
        log, t = (logs[ref // LANE], ref % LANE) if ref is not None else (None, 0)
        if record.kind == "asked":
            first, second = body["pair"]
            asked[ref] = first, second, body["left"]
            log.append(Event("asked", t, first, second, notes=tuple(body.get("notes", ()))))
            if first == second:
                log.append(Event("told", t, first))
        elif record.kind == "voted" and not body.get("late"):
            assert ref not in voted, "two votes on one duel"
            voted[ref] = body
        elif record.kind == "voted":
            said.late += 1
        elif record.kind == "undone":
            del voted[ref]
        elif record.kind == "told":
            first, second, left = asked[ref]
            right = first + second - left
            pick = voted[ref]["pick"]
            settled.append((ref, pick, left, right))
            if pick == "tie":
                log.append(Event("tied", t))
            else:
                log.append(Event("told", t, left if pick == "left" else right))
        elif record.kind == "forgot":
            said.uncounted += ref in voted and voted[ref]["pick"] != "skip"
            log.append(Event("forgotten", t))
        elif record.kind in ("joined", "left"):
            arm = arms.setdefault(body["option"], len(arms))
            for each in logs:
                each.append(Event(record.kind, arm=arm))
    order = settings["order"]
    _count(said, settled, logs, order)
    for body in voted.values():
        first, second = body["shown"]
        if body["pick"] == "skip":
            said.skips[frozenset((first, second))] += 1
        else:
            said.votes += 1
    for lane, log, seed in zip(settings["lanes"], logs, seeds, strict=True):
        policy = make_policy(
            lane["spec"], len(opened["options"]), seed,
            order=order, ties=settings["ties"], mode=settings["mode"],
        )  # fmt: skip
        said.policies.append(fold(policy, log))
    return said


def _count(said, settled, logs, order):
    """Count what was told; in the order of asking, up to the first duel that nobody settled."""
    done = [set() for _ in logs]
    asked = [0] * len(logs)
    for number, log in enumerate(logs):
        for event in log:
            if event.kind == "asked":
                asked[number] = event.round
            elif event.kind in ("told", "tied", "forgotten"):
                done[number].add(event.round)
    upto = [
        next((t for t in range(1, n + 1) if t not in done[number]), n + 1)
        for number, n in enumerate(asked)
    ]
    for ref, pick, left, right in settled:
        if order == "asked" and ref % LANE >= upto[ref // LANE]:
            continue
        if pick == "tie":
            said.ties[frozenset((left, right))] += 1
        else:
            said.wins[(left, right) if pick == "left" else (right, left)] += 1
