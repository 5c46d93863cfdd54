"""Record 64 games and the states that they end with, to compare them with later commits.

    PYTHONPATH=OTHER/src python tests/games/earlier_games.py tests/games/earlier-games.zip COMMIT

plays the games with the package of another checkout; `test_earlier_games.py` repeats them.
"""

import hashlib
import json
import sys
import zipfile
from pathlib import Path

import numpy as np

LADDER = "geometric-btl:arms=6,rounds=3000,phases=3,seed=5"
TIES = "utilities:arms=5,rounds=2500,phases=3,seed=6,ties=0.2"
LATE = "random-condorcet:arms=5,rounds=2500,phases=3,seed=7,delay=20"
ABSENT = "sleeping:arms=6,rounds=2500,seed=8"
DRIFT = "random-walk:arms=5,rounds=2500,seed=9"
CYCLE = "cycle:arms=5,rounds=2500"
POLICIES = (
    "active-ranking", "anaconda", "btm", "btw", "btwr", "borda-dex3s", "king", "borda-king", "ccb",
    "court", "dex3p", "dex3s", "dexp3", "doubler", "dts", "dts-plus", "exp3s", "if", "knockout",
    "metaswift", "multisbm", "parwis", "rcs", "rex3", "rmed1", "rmed2", "rmed2fh", "rucb", "savage",
    "scb", "self-sparring", "sparring", "ttts", "uniform", "vdb", "wsw", "wss",
    "sw-rucb:window=500", "discounted-dts", "glr-rucb", "mdb-rucb", "mdb-wss", "detect-wsw",
    "detect-btw", "oracle-rcs", "periodic-scb:period=700", "doubling-anaconda",
    "doubling-rex3", "anew-rucb",
)  # fmt: skip
CASES = [
    *((policy, LADDER, "serve") for policy in POLICIES),
    *((policy, TIES, "serve") for policy in ("king", "dts", "borda-king")),
    *((policy, LATE, "serve") for policy in ("king", "rucb")),
    *((policy, ABSENT, "serve") for policy in ("king", "court", "rucb")),
    *((policy, DRIFT, "serve") for policy in ("king", "dts", "sw-rucb:window=500")),
    *((policy, CYCLE, "serve") for policy in ("court", "borda-king")),
    *((policy, LADDER, "panel") for policy in ("king", "dts")),
]
"""Policy, world, mode."""


def play_case(policy: str, world: str, mode: str) -> tuple[str, bytes]:
    """Play a game; return a hash of its results, and the policy's state as a saved file."""
    from driftduel import play, policy_to_bytes

    benchmark = "exploitability" if world == CYCLE else "condorcet"
    game = play(policy, world, seed=3, mode=mode, points=50, benchmark=benchmark)
    digest = hashlib.sha256()
    for kind in sorted(game.regret):
        digest.update(kind.encode() + np.ascontiguousarray(game.regret[kind]).tobytes())
    for numbers in (game.at, game.plays, game.restarts, game.switches):
        digest.update(np.ascontiguousarray(numbers, np.int64).tobytes())
    return digest.hexdigest(), policy_to_bytes(game.policy)


def main(target: str, commit: str) -> None:
    """Play all cases and write one file."""
    games = []
    with zipfile.ZipFile(target, "w", zipfile.ZIP_LZMA) as archive:
        for number, case in enumerate(CASES):
            digest, state = play_case(*case)
            games.append({"case": case, "digest": digest})
            archive.writestr(f"{number}.npz", state)
            print(*case, digest[:12], len(state), flush=True)
        archive.writestr("games.json", json.dumps({"commit": commit, "games": games}, indent=1))


if __name__ == "__main__":
    assert not Path(sys.argv[1]).exists()
    main(*sys.argv[1:])
