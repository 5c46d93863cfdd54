"""Result stores that nobody played: quick to make, and known in every number."""

import numpy as np

from driftduel.lab import Store, make_plan
from driftduel.lab.cells import marks, slice_ends
from driftduel.lab.store import SCHEMA

_ZEROS = {"String": "", "Float64": 0.0, "Int64": 0}


def made_store(folder, policies, worlds, runs=4, *, regret=None, restarts=None, played=None):
    """Make up a store.

    `regret(policy, world, run)` is a game's regret, by places in the plan; `restarts` likewise its
    restarts; `played` says which games there are.
    """
    plan = make_plan(list(worlds), list(policies), runs)
    store = Store.create(folder, plan)
    regret = regret or (lambda policy, world, run: 100.0 * (policy + 1) + run)
    restarts = restarts or (lambda policy, world, run: [])
    names = [policy.spec for policy in plan.policies], [world.spec for world in plan.worlds]
    rows = []
    for cell in plan.cells():
        place = names[0].index(cell.policy), names[1].index(cell.world), cell.run
        if played is not None and not played(*place):
            continue
        planned = plan.worlds[place[1]]
        at, ends = marks(planned.rounds, plan.points), slice_ends(planned.rounds)
        total = regret(*place)
        curve = total * at / at[-1]
        shares = np.arange(1, planned.arms + 1) / sum(range(1, planned.arms + 1))
        row = {name: _ZEROS.get(str(kind), curve) for name, kind in SCHEMA.items()}
        row |= {name: getattr(cell, name) for name in ("key", "world", "policy", "seed", "run")}
        row |= {"game_seed": cell.game_seed, "rounds": planned.rounds, "arms": planned.arms}
        row |= {"regret": total, "restarts": restarts(*place), "at": at, "seconds": 0.5}
        row |= {"switches": [planned.rounds // 4 + 1, planned.rounds // 2 + 1]}
        row |= {"plays": np.outer(2 * ends, shares).round().astype(int).ravel()}
        row |= {"winners_from": [1, *row["switches"]], "winners": [0, 1, 0]}
        lists = ("present", "stages", "categories", "category_regret", "category_rounds")
        row |= {name: [] for name in lists}
        row |= {"version": plan.version, "machine": "nobody's", "finished_at": "2026-01-01"}
        rows.append(row)
    if rows:
        store.add(rows)
    return store
