"""Store votes in a database, from which a program that crashed is restored."""

# %%
import sqlite3

import numpy as np

from driftduel.policies import Event, EventLog, fold, make_policy

database = sqlite3.connect(":memory:")  # a file or a server in practice
database.execute("create table log (seq integer primary key, line text)")
people = np.random.default_rng(7)  # a stub for your visitors
# %% [markdown]
# The log is the source of truth: an event is committed before it is acknowledged. At its start a
# program folds the log into a policy and reads the open duels from the ledger. Afterwards it keeps
# a separate table of open duels, and calls `choose` and `learn`.


# %%
class Program:
    """A program without state outside of the database."""

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
        """Commit an event to the log."""
        with database:
            database.execute("insert into log (line) values (?)", (event.to_json(),))

    def ask(self) -> None:
        """Choose a duel and record it as open."""
        self.rounds += 1
        first, second, notes = self.policy.choose(self.rounds)
        self.write(Event("asked", self.rounds, first, second, notes=notes))
        self.open[self.rounds] = first, second, notes

    def vote(self, t: int) -> None:
        """Learn the answer to an open duel; higher numbers are preferred."""
        first, second, notes = self.open.pop(t)
        won = int(people.random() < 0.5 + 0.1 * (first - second))
        self.write(Event("decided", t, won=won))
        self.policy.learn(t, first, second, won, notes)


# %% Answers arrive in any order; in one round of a hundred the program crashes.
program, deaths = Program(), 0
for _ in range(2000):
    program.ask()
    while len(program.open) > 5:
        program.vote(int(people.choice(list(program.open))))
    if people.random() < 0.01:
        program, deaths = Program(), deaths + 1
ship = program.policy.best()
print(f"died {deaths} times; {program.rounds} duels, {len(program.open)} open; ship {ship}")
