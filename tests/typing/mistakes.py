"""Ten mistakes that mypy and pyright must find, one in each marked line."""

from __future__ import annotations

import driftduel
from driftduel import Arena, Duel, Policy, fit, make_policy, play, read_log

policy: Policy = make_policy("king", 3, seed=1)
duel: Duel = policy.ask()
policy.tell(duel, duel.first)

driftduel.typo_here  # mistake: no such name
driftduel.logs.typo_here  # mistake: no such name in a package
play("king", "two-arm", sead=1)  # mistake: no such keyword
make_policy("mdb", 3, swiches=2)  # mistake: no such prior knowledge
policy.tel(duel, duel.first)  # mistake: no such method
Policy.load("king.npz").save(3)  # mistake: not a path
play("king", 3)  # mistake: not a world
driftduel.compare("two-arm", ["king"], runs="many")  # mistake: not a number
fit(read_log("votes.csv").counts).now.winer  # mistake: no such attribute
with Arena(options=["red", "green"], polcy="king") as arena:  # mistake: no such setting
    leader: driftduel.arena.Board = arena.board()
