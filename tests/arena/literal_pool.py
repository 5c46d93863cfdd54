"""The slow, obvious reference implementation of the choice of items: the rules, read literally."""

from driftduel.arena.item_pool import tie_break
from driftduel.arena.settings import MOST_OPTIONS

LAST = 2**32 - 1


class LiteralPool:
    """Plain dictionaries over all items; every choice examines every item."""

    def __init__(self, seed):
        self.seed = seed
        self.items = []  # [options with an answer, group, present, count, count at the start]
        self.seen = set()  # (voter, pair, item)
        self.covered = {}  # (pair, group) -> items shown in this round
        self.groups = []
        self.by_pair = {}  # pair -> duels by group
        self.total = []

    def eligible(self, pair, group=None):
        return [
            number
            for number, (arms, of, present, *_) in enumerate(self.items, 1)
            if present and set(pair) <= arms and group in (None, of)
        ]

    def lowest(self):
        return min((item[3] for item in self.items if item[2]), default=0)

    def add(self, items):
        start = self.lowest()
        for arms, value in items:
            if value not in self.groups:
                self.groups.append(value)
                self.total.append(min(self.total, default=0))
                for counts in self.by_pair.values():
                    counts.append(min(counts))
            self.items.append([set(arms), self.groups.index(value), True, start, start])

    def retire(self, item):
        self.items[item - 1][2] = False

    def readmit(self, item):
        one = self.items[item - 1]
        step = max(0, self.lowest() - one[3]) if self.eligible(()) else 0
        one[2], one[3], one[4] = True, one[3] + step, one[4] + step

    def extend(self, item, arms):
        self.items[item - 1][0] |= set(arms)

    def candidates(self, voter, pair, group=None):
        return [i for i in self.eligible(pair, group) if (voter, pair, i) not in self.seen]

    def show(self, voter, pair):
        if not self.eligible(pair):
            return None
        code = pair[0] * MOST_OPTIONS + pair[1]
        counts = self.by_pair.setdefault(pair, [0] * len(self.groups))
        order = sorted(
            range(len(self.groups)),
            key=lambda g: (
                counts[g], self.total[g], tie_break(self.seed, LAST - g, counts[g], code)
            ),
        )  # fmt: skip
        for group in order:
            covered = self.covered.setdefault((pair, group), set())
            if set(self.eligible(pair, group)) <= covered:
                covered.clear()
            left = self.candidates(voter, pair, group)
            if not left:
                continue
            item = min(
                left,
                key=lambda i: (
                    i in covered,
                    self.items[i - 1][3],
                    tie_break(self.seed, i, self.items[i - 1][3], code),
                ),
            )
            covered.add(item)
            self.items[item - 1][3] += 1
            counts[group] += 1
            self.total[group] += 1
            if voter is not None:
                self.seen.add((voter, pair, item))
            return item
        return None

    def least_shown_pair(self, voter, options):
        here = sorted(options)
        pairs = [(a, b) for a in here for b in here if a < b and self.candidates(voter, (a, b))]
        return min(pairs, key=lambda p: (sum(self.by_pair.get(p, ())), p), default=None)
