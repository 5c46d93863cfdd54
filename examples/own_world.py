"""Load a world from a file: three arms, and another winner in the second week."""

# %%
import builtins
import tempfile
from pathlib import Path

import numpy as np

from driftduel import compare, load_world, make_world, measure

show = getattr(builtins, "display", print)  # rich display in a notebook, else plain text
temporary = tempfile.TemporaryDirectory()
folder = Path(temporary.name)

# %% [markdown]
# Votes were counted in two weeks: `wins[a, b]` is the number of votes for a against b. The shares
# are a preference matrix; two votes added to each side keep rare pairs away from 0 and 1.

# %%
weeks = [
    np.array([[0, 61, 70], [39, 0, 55], [30, 45, 0]]),
    np.array([[0, 44, 36], [56, 0, 33], [64, 67, 0]]),
]
matrices = np.array([(wins + 2) / (wins + wins.T + 4) for wins in weeks])

# %% [markdown]
# One matrix is a CSV file; a world that changes is an NPZ file with `matrices`, the first round of
# each (`starts`, counted from 1) and the number of `rounds`.

# %%
np.savetxt(folder / "week1.csv", matrices[0], delimiter=",")
np.savez(folder / "votes.npz", matrices=matrices, starts=[1, 10001], rounds=20000)
first_week = make_world(f"file:path={folder / 'week1.csv'},rounds=10000")
world = load_world(str(folder / "votes.npz"))

# %% [markdown]
# Measure the changes. The error for an invalid file is one sentence that names the entry.

# %%
change = measure(world)
print("winner in week 1:", first_week.condorcet_winners()[0][1])
print("who wins when:   ", world.condorcet_winners())
print("switches:", change.condorcet_switches, " total variation:", round(change.total_variation, 3))
for t in (1, 10001):
    P = world.preferences(t)
    print(f"round {t}: Borda scores {P.borda_scores().round(3)}, SST broken by {P.sst_violation()}")

# %% [markdown]
# A file is a world like any other, here and on the command line.

# %%
spec = f"file:path={folder / 'votes.npz'}"
results = compare(["dts", "sw-dts:window=2000", "oracle-dts", "uniform"], spec, runs=10)
show(results.summary.sort("regret_mean").select("policy", "regret_mean", "regret_low", "told"))
temporary.cleanup()
