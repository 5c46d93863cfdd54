"""A judge program for `driftduel arena judge`: reads duels as JSON lines, writes picks.

Run it with::

    driftduel arena judge models --command "python examples/judge.py" --both-orders

The function `compare` is a stand-in, which prefers the shorter answer. Replace it by a call of your
model; everything else stays.
"""

import json
import sys


def compare(prompt: str, first: str, second: str) -> tuple[str, str]:
    """Return the pick (a, b, tie, both-bad or skip) and a reason."""
    if abs(len(first) - len(second)) < 3:
        return "tie", "about equally long"
    return ("a" if len(first) < len(second) else "b"), "shorter"


for line in sys.stdin:
    duel = json.loads(line)
    prompt = duel["prompt"]["content"] if duel["prompt"] else ""
    pick, reason = compare(prompt, duel["a"]["content"], duel["b"]["content"])
    print(json.dumps({"id": duel["id"], "pick": pick, "reason": reason}), flush=True)
