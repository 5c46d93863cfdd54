"""Votes arrive late or never, and the server restarts in the middle."""

# %%
import tempfile
from pathlib import Path

import numpy as np

from driftduel import Duel, load_policy, make_policy, save_policy

folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "policy.npz"
people = np.random.default_rng(7)  # a stub for your visitors

# %% [markdown]
# Four headlines; the number of votes is not known in advance. After half of the votes the best
# headline changes from 2 to 0. Answers arrive in any order, and one in ten never arrives.

# %%
TASTE = np.array([[0.2, 0.5, 0.9, 0.4], [0.9, 0.5, 0.2, 0.4]])


def vote(duel: Duel, day: int) -> int:
    """Return the headline that a visitor prefers."""
    a, b = 4 * TASTE[day, [duel.first, duel.second]]
    return duel.first if people.random() < 1 / (1 + np.exp(b - a)) else duel.second


# %% [markdown]
# A duel consists of numbers, so it can be stored in a database. Answers are accepted in any order;
# `forget` closes a duel that will never be answered.

# %%
policy = make_policy("sw-dts:window=400", arms=4, seed=1)
open_duels: list[str] = []
shown: list[tuple[int, int]] = []
lost = 0
for t in range(4000):
    duel = policy.ask()
    shown.append((duel.first, duel.second))
    open_duels.append(duel.to_json())
    while len(open_duels) > 25:  # a visitor answers one of the open duels
        duel_text = open_duels.pop(int(people.integers(len(open_duels))))
        duel = Duel.from_json(duel_text)
        if people.random() < 0.1:
            policy.forget(duel)
            lost += 1
        else:
            policy.tell(duel, winner=vote(duel, day=int(t >= 2000)))
    if t == 1999:  # the server restarts; open duels are saved too
        save_policy(policy, file)
        policy = load_policy(file)
print(f"asked {policy.info().rounds}, lost {lost}, still open {len(open_duels)}")

# %%
for name, rounds in (("before", shown[1000:2000]), ("after", shown[3000:])):
    share = np.bincount(np.ravel(rounds), minlength=4) / (2 * len(rounds))
    print(f"{name} the change, headlines were shown in shares of {share.round(2)}")
print(f"the headline to keep: {policy.best()}")
folder.cleanup()
