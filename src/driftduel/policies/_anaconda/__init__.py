"""ANACONDA's engine: exact, and almost as fast as drawing the arms.

After every round the paper tests for every pair and every window whether a sum of estimates exceeds
a threshold. Seven facts, each checked against the literal recursion in the tests, give the exact
result in near-constant time. The module of each fact is given in parentheses:

1. **One number per arm** (`eliminations`). `last[a]`, the largest start of any window that has
   fired against arm a, is the whole elimination state. A replay that began in t0 has the active
   set {a : last[a] < t0}, the good set is {a : last[a] < t_l}, and the call tree is a stack of
   (start, end).
2. **Only a win can fire** (`wins.enter`). A pair's sum rises only when the pair is played and its
   first arm wins. One exception, `single_wins`: a window of two rounds with the first as the only
   win.
3. **Few starts are useful** (`starts.stack`). A pair's *balance* before round s is
   D(s) = (weight won before s) - (s - 1)/2, and a window's sum is D(t + 1) - D(s). A later start
   with a smaller or equal balance is better for every window that ends after it: the useful starts
   of a pair form a stack with balances increasing, and only winning rounds need be on it.
4. **Blocks are refuted in one comparison** (`starts.newest_that_fires`). For a block of that stack,
   the oldest start bounds every sum from above and the newest every threshold from below. Floating
   point keeps both inequalities (rounding is monotone), so blocks are refuted exactly, and the
   newest firing start is found by galloping.
5. **Most wins can wait** (`wins.enter`, `wins.examine`). No window can fire before the balance has
   risen by the smallest threshold above its lowest value since the last examination of the pair, or
   by the amount that the older starts then lacked. Until then the pair is not examined; its wins
   are buffered in a short list, written without an unpredictable branch, and moved to the stack in
   batches.
6. **Old starts die** (`eliminations.first_that_matters`, `pruning.prune`). A start matters only if
   it lies in a running replay in which the arm is still active (or, while the arm is good, in the
   episode); older ones are irrelevant for good. Starts between the same two running replays'
   beginnings have the same effect, so only those that can be the best at some later time are kept.
7. **Replays are drawn ahead** (`replays.next_replay`). They start ever more rarely, so the next
   start is drawn by skipping ahead and thinning.

Twice every sum is an integer and is stored as one. `record` defines the state, `rule` the
thresholds, `duels` the choice of pairs, and `rounds` the kernels `ask` and `tell`.
"""
