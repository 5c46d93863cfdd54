"""Votes are kept in a database, and the program that learns from them may die at any time."""

# %%
import sqlite3

import numpy as np

from driftduel.policies import Event, EventLog, fold, make_policy

database = sqlite3.connect(":memory:")  # yours is a file, or a server
database.execute("create table log (seq integer primary key, line text)")
people = np.random.default_rng(7)  # stands in for your visitors
# %% [markdown]
# The log is the truth: whatever happens is written down before anybody hears of it. A program that
# starts folds the log into a policy and finds the open duels in its ledger; from then on it has a
# table of its own, `choose` and `learn`.


# %%
class Program:
    """What dies and comes back."""

    def __init__(self) -> None:
        rows = database.execute("select line from log order by seq")
        log = EventLog.from_lines(line for (line,) in rows)
        self.policy = fold(make_policy("king", arms=4, seed=1, mode="panel"), log)
        open_duels = self.policy.ledger.open
        self.open: dict[int, tuple[int, int, tuple[float, ...]]] = {
            t: (duel.first, duel.second, duel.notes) for t, duel in open_duels.items()
        }
        self.rounds = self.policy.ledger.asked

    def write(self, event: Event) -> None:
        """Make an event last."""
        with database:
            database.execute("insert into log (line) values (?)", (event.to_json(),))

    def ask(self) -> None:
        """Show two to somebody."""
        self.rounds += 1
        first, second, notes = self.policy.choose(self.rounds)
        self.write(Event("asked", self.rounds, first, second, notes=notes))
        self.open[self.rounds] = first, second, notes

    def vote(self, t: int) -> None:
        """Learn what somebody prefers: here the higher number."""
        first, second, notes = self.open.pop(t)
        won = int(people.random() < 0.5 + 0.1 * (first - second))
        self.write(Event("decided", t, won=won))
        self.policy.learn(t, first, second, won, notes)


# %% People answer in any order, and every now and then the program dies.
program, deaths = Program(), 0
for _ in range(2000):
    program.ask()
    while len(program.open) > 5:
        program.vote(int(people.choice(list(program.open))))
    if people.random() < 0.01:
        program, deaths = Program(), deaths + 1
ship = program.policy.best()
print(f"died {deaths} times; {program.rounds} duels, {len(program.open)} open; ship {ship}")
