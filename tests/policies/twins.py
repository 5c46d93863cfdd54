"""Slow, obvious twins of what goes around a policy, and of some policies to go inside.

Lists, dictionaries and the formulas as they are printed; nothing is shared with the kernels but the
order in which random numbers are drawn, and how one is drawn from a beta distribution. Each has
`ask(t, draw)`, which returns two arms, and `tell(t, first, second, won)`, which returns whether
everything was forgotten. `draw()` gives a uniform number. Those that say so have
`change(t, arm, here)`, too, and `hear(winner, loser, weight)`.
"""

import math
from collections import defaultdict

import numpy as np

from driftduel._minimax import solve, workspace
from driftduel._random import beta, beta_above_half, bits


def shuffled(items, draw):
    """Shuffle from the back, as Fisher and Yates do."""
    items = list(items)
    for i in range(len(items) - 1, 0, -1):
        j = int(draw() * (i + 1))
        items[i], items[j] = items[j], items[i]
    return items


def even_at_least(x):
    w = math.ceil(x)
    return w + w % 2


# ---- policies to go inside ----


class Uniform:
    """Any two of those who are there."""

    def __init__(self, K):
        self.here = list(range(K))

    def ask(self, t, draw):
        return tuple(self.here[int(draw() * len(self.here))] for _ in range(2))

    def tell(self, t, first, second, won):
        return False

    def change(self, t, arm, here):
        self.here = sorted([*self.here, arm]) if here else [i for i in self.here if i != arm]

    def hear(self, winner, loser, weight):
        pass


class Rucb(Uniform):
    """RUCB as in the paper, B included; of those who are there, as SlDB-UCB does."""

    any_duel = True

    def __init__(self, K, alpha=0.51):
        super().__init__(K)
        self.K, self.alpha = K, alpha
        self.reset()

    def reset(self):
        self.wins = [[0] * self.K for _ in range(self.K)]
        self.B = None

    def u(self, i, j, t):
        if i == j:
            return 0.5
        n = self.wins[i][j] + self.wins[j][i]
        return self.wins[i][j] / n + math.sqrt(self.alpha * math.log(t) / n) if n else math.inf

    def ask(self, t, draw):
        S = self.here
        C = [i for i in S if all(self.u(i, j, t) >= 0.5 for j in S)]
        if self.B not in C:
            self.B = None
        if not C:
            first = S[int(draw() * len(S))]
        elif len(C) == 1:
            first = self.B = C[0]
        elif self.B is not None and draw() < 0.5:
            first = self.B
        else:
            others = [i for i in C if i != self.B]
            first = others[int(draw() * len(others))]
        second, most, ties = first, 0.5, 0  # of equals somebody else, and each with the same chance
        for j in S:
            hope = self.u(j, first, t)
            if j == first or hope < most:
                continue
            ties = ties + 1 if ties and hope == most else 1
            if ties == 1 or draw() * ties < 1:
                second, most = j, hope
        return first, second

    def tell(self, t, first, second, won):
        if first != second:
            winner, loser = (first, second) if won else (second, first)
            self.wins[winner][loser] += 1
        return False

    def hear(self, winner, loser, weight):
        self.wins[winner][loser] += weight

    def suspect(self):
        """Most victories; of equals, the one that won the larger shares."""

        def record(i):
            score = 0.0  # summed up one by one: in a tie, rounding decides
            for j in self.here:
                n = self.wins[i][j] + self.wins[j][i]
                if j != i and n:
                    share = self.wins[i][j] / n
                    score += (share > 0.5) + share / 1000
            return score

        return max(self.here, key=record)


class Dts(Rucb):
    """DTS and DTS+ as in the paper."""

    def __init__(self, K, plus=False):
        self.plus = plus
        super().__init__(K)

    def ask(self, t, draw):
        S, w, rng = self.here, self.wins, bits(draw.__self__)
        rivals = {i: [j for j in S if j != i] for i in S}
        hopes = {i: sum(self.u(i, j, t) >= 0.5 for j in rivals[i]) for i in S}
        C = [i for i in S if hopes[i] == max(hopes.values())]
        first = C[0] if len(C) == 1 else self.champion(C, rivals, draw, rng)
        sample = {first: 0.5}
        for j in rivals[first]:
            if self.u(first, j, t) >= 0.5:
                sample[j] = beta(rng, w[j][first] + 1.0, w[first][j] + 1.0)
        return first, max(sample, key=sample.get)

    def champion(self, C, rivals, draw, rng):
        w, theta = self.wins, {}
        for i in rivals:
            for j in (j for j in rivals if j < i):
                a, b = w[i][j] + 1.0, w[j][i] + 1.0
                theta[i, j] = beta(rng, a, b) if self.plus else float(beta_above_half(rng, a, b))
                theta[j, i] = 1 - theta[i, j]
        beaten = {i: sum(theta[i, j] > 0.5 for j in rivals[i]) for i in rivals}
        most = max(beaten[i] for i in C)

        def cost(i):
            """What everybody's lack of victories costs until it is told from i."""
            lacks = {j: (most - beaten[i]) + (most - beaten[j]) for j in rivals[i]}
            return sum(lack / divergence(theta[i, j]) for j, lack in lacks.items() if lack > 0)

        best = [i for i in C if beaten[i] == most]
        if self.plus:
            costs = {i: cost(i) for i in best}
            best = [i for i in best if costs[i] == min(costs.values())]
        first = best[0]
        for ties, i in enumerate(best[1:], start=2):
            if draw() * ties < 1:
                first = i
        return first


def divergence(p):
    """Kullback and Leibler's, of a coin from a fair one."""
    return p * math.log(p / 0.5) + (1 - p) * math.log((1 - p) / 0.5)


class BeatTheWinner:
    """Matches to r wins; the loser goes to the back of the queue."""

    any_duel = False

    def __init__(self, K, *, resets=False):
        self.K, self.resets = K, resets
        self.reset()

    def reset(self):
        self.queue, self.r, self.score = None, 1, [0, 0]

    def ask(self, t, draw):
        if self.queue is None:
            self.incumbent, *self.queue = shuffled(range(self.K), draw)
        return self.incumbent, self.queue[0]

    def tell(self, t, first, second, won):
        self.score[1 - won] += 1
        if max(self.score) == self.r:
            challenger = self.queue.pop(0)
            loser = challenger if won else self.incumbent
            self.incumbent = self.incumbent if won else challenger
            self.queue.append(loser)
            self.r = 1 if self.resets and not won else self.r + 1
            self.score = [0, 0]
        return False

    def suspect(self):
        return 0 if self.queue is None else self.incumbent


class WinnerStays:
    """Play who has the most wins minus losses; of equals, who was in the last duel."""

    any_duel = False

    def __init__(self, K, beta=None):
        self.K, self.beta = K, beta
        self.reset()

    def reset(self):
        self.C, self.last, self.round, self.alone, self.champion = [0] * self.K, (), 1, 0, None

    def best(self, among, draw):
        top = [k for k in among if self.C[k] == max(self.C[j] for j in among)]
        kept = [k for k in self.last if k in top]
        return kept[0] if kept else top[int(draw() * len(top))]

    def ask(self, t, draw):
        if self.alone:
            self.alone -= 1
            return self.champion, self.champion
        first = self.best(range(self.K), draw)
        second = self.best([k for k in range(self.K) if k != first], draw)
        if self.beta and self.C[second] <= -self.round:
            self.alone, self.champion = math.floor(self.beta**self.round) - 1, first
            self.round += 1
            return first, first
        self.last = first, second
        return first, second

    def tell(self, t, first, second, won):
        if first != second:
            self.C[first] += 2 * won - 1
            self.C[second] -= 2 * won - 1
        return False

    def suspect(self):
        return self.champion if self.round > 1 else self.best(range(self.K), lambda: 0.0)


# ---- what goes around them ----


class Plain:
    """Nothing around it."""

    def __init__(self, inner):
        self.inner = inner

    def ask(self, t, draw):
        return self.inner.ask(t, draw)

    def tell(self, t, first, second, won):
        return self.inner.tell(t, first, second, won)

    def suspect(self):
        return self.inner.suspect()

    def change(self, t, arm, here):
        self.inner.change(t, arm, here)

    def hear(self, winner, loser, weight):
        self.inner.hear(winner, loser, weight)


class Window(Plain):
    """The policy inside knows the last W answers, and no more than W rounds."""

    def __init__(self, inner, W):
        super().__init__(inner)
        self.W, self.answers = W, []

    def count(self):
        self.inner.wins = [[0] * self.inner.K for _ in range(self.inner.K)]
        for answer in self.answers[-self.W :]:
            self.inner.tell(0, *answer)

    def ask(self, t, draw):
        self.count()
        return self.inner.ask(min(t, self.W), draw)

    def tell(self, t, first, second, won):
        self.answers.append((first, second, won))
        return False

    def hear(self, winner, loser, weight):
        self.answers += [(winner, loser, 1)] * math.floor(weight)


class Discount(Plain):
    """An answer counts discount^n once n more have come."""

    def __init__(self, inner, discount):
        super().__init__(inner)
        self.discount, self.answers = discount, []

    def ask(self, t, draw):
        wins = [[0.0] * self.inner.K for _ in range(self.inner.K)]
        for age, (first, second, won) in enumerate(reversed(self.answers)):
            if first != second:
                winner, loser = (first, second) if won else (second, first)
                wins[winner][loser] += self.discount**age
        self.inner.wins = wins
        return self.inner.ask(min(t, math.floor(1 / (1 - self.discount))), draw)

    def tell(self, t, first, second, won):
        self.answers.append((first, second, won))
        return False

    def hear(self, winner, loser, weight):
        self.answers += [(winner, loser, 1)] * int(weight)


class Restarting(Plain):
    """What those have in common that forget everything: `start` is round 1 of the policy inside."""

    def __init__(self, inner):
        super().__init__(inner)
        self.start = 1

    @property
    def here(self):
        return getattr(self.inner, "here", list(range(self.inner.K)))

    def local(self, t):
        return max(1, t - self.start + 1)

    def restart(self, after):
        self.inner.reset()
        self.start = after + 1
        return True


class Scheduled(Restarting):
    """Start anew in given rounds; late answers may make it later."""

    def __init__(self, inner, period=math.inf, at=()):
        super().__init__(inner)
        self.period, self.at = period, at

    def ask(self, t, draw):
        return self.inner.ask(self.local(t), draw)

    def tell(self, t, first, second, won):
        if t < self.start:
            return False
        self.inner.tell(self.local(t), first, second, won)
        later = [a for a in self.at if a > self.start]
        return t + 1 >= min([self.start + self.period, *later]) and self.restart(t)


def halves_differ(outcomes, w, b):
    """The alarm of MDB and DETECT: the newer w/2 of the last w outcomes against the older w/2."""
    if len(outcomes) < w:
        return False
    newest = outcomes[-w:]
    return abs(sum(newest[w // 2 :]) - sum(newest[: w // 2])) > b


class Mdb(Restarting):
    """Monitored Dueling Bandits, told T, M and delta."""

    def __init__(self, inner, T, M, delta):
        super().__init__(inner)
        K = inner.K
        C = math.log((4 * T + 2) * math.sqrt(T) / (math.sqrt(M) * K))
        self.w = even_at_least(8 * C / delta**2)
        self.b = math.sqrt(self.w * C / 2)
        self.gamma = (K - 1) / 2 * math.sqrt(M * self.w / T)
        self.D = max(1, math.floor(K * (K - 1) / 2 / self.gamma))
        self.pairs, self.seen, self.asked = None, defaultdict(list), {}

    def ask(self, t, draw):
        if self.pairs is None:
            K = self.inner.K
            self.pairs = shuffled(((a, b) for a in range(K) for b in range(a)), draw)
        r = (self.local(t) - 1) % self.D
        self.asked[t] = r < len(self.pairs) and set(self.pairs[r]) <= set(self.here)
        return self.pairs[r] if self.asked[t] else self.inner.ask(self.local(t), draw)

    def tell(self, t, first, second, won):
        if t < self.start:
            return False
        monitored = self.asked[t]
        if not monitored or self.inner.any_duel:
            self.inner.tell(self.local(t), first, second, won)
        if not monitored:
            return False
        self.seen[first, second].append(won)
        if halves_differ(self.seen[first, second], self.w, self.b):
            self.seen.clear()
            return self.restart(t)
        return False


class Detect(Restarting):
    """DETECT, told T, delta, p_min and which constants."""

    def __init__(self, inner, T, delta, p_min, setting):
        super().__init__(inner)
        K, m, log = inner.K, (2 * p_min - 1) ** 2, math.log
        if setting == "1":
            self.T_ = (log(T / ((1 - math.exp(-m)) * log(T))) / m + K - 1) ** 2
            self.w = even_at_least((16 * log(T) + 6) / delta**2)
            self.b = math.sqrt(self.w * (log(T) + 3 / 8))
        else:
            self.T_ = math.sqrt(T)
            x = math.exp(-(T ** (1 / 4) - K + 1) * m) / (1 - math.exp(-m))
            enough = max(1, log(2 * T / x))
            self.w = even_at_least(8 * enough / delta**2)
            self.b = math.sqrt(self.w * enough / 2)
        self.incumbent, self.seen, self.asked = None, defaultdict(list), {}

    def ask(self, t, draw):
        turn = self.local(t) - math.ceil(self.T_)
        self.asked[t] = turn > 0
        if turn <= 0:
            return self.inner.ask(self.local(t), draw)
        if self.incumbent is None:
            self.incumbent = self.inner.suspect()
        others = [k for k in range(self.inner.K) if k != self.incumbent]
        return self.incumbent, others[(turn - 1) % len(others)]

    def tell(self, t, first, second, won):
        if t < self.start:
            return False
        if not self.asked[t]:
            return self.inner.tell(self.local(t), first, second, won)
        self.seen[second].append(won)
        if halves_differ(self.seen[second], self.w, self.b):
            self.seen.clear()
            self.incumbent = None
            return self.restart(t)
        return False

    def suspect(self):
        return self.inner.suspect() if self.incumbent is None else self.incumbent


def likelihood(outcomes):
    """The log likelihood of outcomes under the coin that makes them likeliest."""
    n, heads = len(outcomes), sum(outcomes)
    return sum(k * math.log(k / n) for k in (heads, n - heads) if k)


class Glr(Restarting):
    """Some pair's history is likelier under two coins, by log(3 n sqrt(n) / delta)."""

    def __init__(self, inner, explore, delta, splits=64):
        super().__init__(inner)
        self.explore, self.delta, self.splits = explore, delta, splits
        self.history = defaultdict(list)

    def ask(self, t, draw):
        if draw() < self.explore and len(self.here) > 1:
            first = self.here[int(draw() * len(self.here))]
            others = [k for k in self.here if k != first]
            return first, others[int(draw() * len(others))]
        return self.inner.ask(self.local(t), draw)

    def kept(self, n):
        """Where a history of n may be split: the multiples of a power of two, 64 at most."""
        gap = 1
        while (n - 1) // gap > self.splits:
            gap *= 2
        return range(gap, n, gap)

    def tell(self, t, first, second, won):
        if t < self.start:
            return False
        self.inner.tell(self.local(t), first, second, won)
        if first == second:
            return False
        pair = self.history[min(first, second), max(first, second)]
        pair.append(won if first < second else 1 - won)
        n = len(pair)
        limit = math.log(3 * n * math.sqrt(n) / self.delta)
        for k in self.kept(n):
            if likelihood(pair[:k]) + likelihood(pair[k:]) - likelihood(pair) > limit:
                self.history.clear()
                return self.restart(t)
        return False


# ---- king ----


class Match:
    """A match: when it was opened, how its duels went for the challenger, and what is out."""

    def __init__(self, since, asked, out):
        self.since, self.asked, self.out = since, asked, out
        self.outcomes, self.tied = [], 0

    @property
    def lead(self):
        return sum(self.outcomes)

    @property
    def wealth(self):
        stakes = [0.8 / 2**k for k in range(6)]
        return sum(math.prod((1 + s * x for x in self.outcomes), start=1.0) / 6 for s in stakes)


class King:
    """King of the hill, by its docstring: dictionaries, and a match as the list of its outcomes."""

    def __init__(self, order):
        self.order, self.place = list(order), 0
        self.here, self.king, self.crowned, self.now = set(order), order[0], 0, 0
        self.due, self.alarms, self.matches, self.held, self.waited, self.last = 0.0, 0, 0, 0, 0, 0
        self.open, self.record, self.seen = {}, {}, {}
        self.newcomers = {}  # when it came, when its next match is due, how many it has had
        self.votes = defaultdict(float)
        self.dropped = 0

    rates = 1 / 2, 1 / 2

    def free(self):
        """Who may be given a match."""
        return [j for j in sorted(self.here) if j != self.king and j not in self.open]

    def size(self):
        """How many arms there are, for the timing of matches."""
        return len(self.here)

    def ask(self, t, draw=None):
        j = self.challenger(t)
        return self.king, self.king if j is None else j

    def challenger(self, t):
        self.now, K = t, self.size()
        for j, (came, due, tries) in sorted(self.newcomers.items()):
            if due <= t:
                self.newcomers[j] = came, came + max(4, int(math.e**2 * (t - came))), tries
                if j in self.free():
                    return self.challenge(j, t)
                if j not in self.open:
                    break
        if self.open:
            if self.waited >= 64 and len(self.open) < K - 1:
                return self.challenge(self.next(), t)
            everybody = len(self.order)
            for j in [(self.last + 1 + i) % everybody for i in range(everybody)]:
                match = self.open.get(j)
                if match and match.lead >= 0 and match.out < 2 * match.lead + 1:
                    match.out, match.asked, self.last = match.out + 1, t, j
                    return j
            for j, match in list(self.open.items()):
                if match.out and t - match.asked > 10_000:
                    match.out = 0
                    if match.lead < 0:
                        del self.open[j]
        rate, fresh_rate = self.rates
        age = max(1, t - self.crowned)
        self.due += min(1, rate * math.sqrt(K * (1 + self.alarms) / t) + fresh_rate * K / age)
        if self.due < 1:
            return None
        if len(self.open) == K - 1:
            self.due = 1.0
            return None
        self.due -= 1
        return self.challenge(self.next(), t)

    def next(self):
        free = self.free()
        if self.matches % 4 == 3 and self.held >= self.size() - 1:
            return max(free, key=lambda j: self.record.get(j, 0.5))
        while True:
            j = self.order[self.place]
            self.place = (self.place + 1) % len(self.order)
            if j in free:
                return j

    def challenge(self, j, t, out=1, asked=None):
        self.open[j] = Match(t, asked or t, out)
        if j in self.newcomers:
            came, due, tries = self.newcomers[j]
            self.newcomers[j] = came, due, tries + 1
        self.matches, self.held, self.waited, self.last = self.matches + 1, self.held + 1, 0, j
        return j

    def tell(self, t, first, second, won):
        """Return 1 after an alarm, else 0; `won` is -1 if nobody did."""
        if first == second:
            return 0
        if self.king == second:
            first, second, won = second, first, {1: 0, 0: 1, -1: -1}[won]
        j, match = second, self.open.get(second)
        if first != self.king or match is None or t < match.since:
            self.dropped += 1
            return 0
        fallen, said = self.king, self.settle(j, match, won)
        if said is None:
            return 0
        self.crown(j, self.now)
        if match.out:
            self.challenge(fallen, match.since, match.out, self.now)
        return int(said == "alarm")

    def settle(self, j, match, won):
        """Return whether the king falls, or falls with an alarm, after a duel of a match."""
        match.out, self.waited = max(0, match.out - 1), self.waited + 1
        if won == -1:
            match.tied += 1
            if match.tied == 64 or (match.lead < 0 and not match.out):
                del self.open[j]
            return None
        match.tied = 0
        n = self.seen[j] = self.seen.get(j, 0) + 1
        before = self.record.get(j, 0.5)
        self.record[j] = before + max(0.05, 1 / (n + 2)) * ((1 - won) - before)
        match.outcomes.append(1 - 2 * won)
        if match.wealth < 0.001 or (match.lead < 0 and not match.out):
            del self.open[j]
            return None
        fresh, beyond_doubt = 4 * 2 ** (self.held / (self.size() - 1)), 50 + self.matches / 2
        if j in self.newcomers:
            fresh = min(fresh, 4 * 2 ** (self.newcomers[j][2] - 1))
        established = fresh >= beyond_doubt
        if match.wealth < (beyond_doubt if established else fresh):
            return None
        self.alarms += established
        return "alarm" if established else "fall"

    def crown(self, j, t):
        self.king, self.crowned, self.held, self.waited = j, t, 0, 0
        self.open, self.record, self.seen, self.newcomers = {}, {}, {}, {}

    def change(self, t, arm, here):
        if here:
            self.here.add(arm)
            self.newcomers[arm] = t, t, 0
            return
        self.here.remove(arm)
        self.newcomers.pop(arm, None)
        self.open.pop(arm, None)
        if arm == self.king:
            there = [j for j in self.order if j in self.here]
            self.crown(max(there, key=lambda j: self.record.get(j, 0.5)), t - 1)

    def hear(self, winner, loser, weight):
        self.votes[winner, loser] += weight

        def leads(i):
            majorities = sum(self.votes[i, j] > self.votes[j, i] for j in self.order)
            won = sum(self.votes[i, j] for j in range(len(self.order)))
            lost = sum(self.votes[j, i] for j in range(len(self.order)))
            return majorities, won / (won + lost) if won + lost else 0.5

        self.king = max((j for j in self.order if j in self.here), key=leads)

    def suspect(self):
        return self.king


class Court(King):
    """A king that may be a mixture, by its docstring; the shares of those who have one."""

    def __init__(self, order):
        super().__init__(order)
        self.shares, self.known = {order[0]: 1.0}, {order[0]}
        self.wins, self.met = defaultdict(float), defaultdict(float)
        self.rested = self.answers = self.solved = 0
        self.in_court, self.solutions = set(), 0

    def free(self):
        return [j for j in sorted(self.here) if j not in self.shares and j not in self.open]

    def size(self):
        return len(self.here) - len(self.shares) + 1

    def ask(self, t, draw):
        self.now = t
        mixing = len(self.shares) > 1
        if not mixing or not self.open or self.rested >= self.waited // 16:
            j = self.challenger(t)
            if j is not None:
                self.rested = 0
                return self.somebody(draw), j
        self.rested += 1
        if mixing:
            self.in_court.add(t)
        return self.somebody(draw), self.somebody(draw)

    def somebody(self, draw):
        if len(self.shares) == 1:
            return self.king
        u = draw()
        for i in sorted(self.shares):
            u -= self.shares[i]
            if u < 0:
                break
        return i

    def challenge(self, j, t, *late):
        self.met = without(self.met, j)
        return super().challenge(j, t, *late)

    def tell(self, t, first, second, won):
        if first == second:
            return 0
        winner, loser = (first, second) if won else (second, first)
        match = self.open.get(second)
        if t in self.in_court or match is None or t < match.since:
            self.dropped += t not in self.in_court
            if won >= 0 and first in self.known and second in self.known:
                self.wins[winner, loser] += 1
                self.fade(first, second, 300)
                self.answers += 1
                if self.answers >= 64 * (1 + 0.1 * self.solved):
                    self.solved += 1
                    self.solve()
            return 0
        if won >= 0:
            self.met[winner, loser] += 1
        said = self.settle(second, match, won)
        if said is None:
            return 0
        self.join(second, said == "alarm")
        return int(said == "alarm")

    def join(self, j, alarm):
        if alarm and len(self.shares) == 1:
            for i in self.known - {self.king}:
                self.forget(i)
        for i in self.known:
            if self.met[i, j] + self.met[j, i] > 0:
                self.wins[i, j], self.wins[j, i] = self.met[i, j], self.met[j, i]
            else:
                self.fade(i, j, 10)
        self.known.add(j)
        self.crown(j, self.now)
        self.solved = 0
        self.solve()

    def fade(self, i, j, most):
        n = self.wins[i, j] + self.wins[j, i]
        if n > most:
            self.wins[i, j] *= most / n
            self.wins[j, i] *= most / n

    def forget(self, i):
        self.known.discard(i)
        self.wins = without(self.wins, i)

    def solve(self):
        self.solutions += 1
        names = sorted(self.known)
        won = np.array([[self.wins[i, j] for j in names] for i in names])
        gaps = np.tril((won + 1) / (won + won.T + 2) - 0.5, -1)
        gaps -= gaps.T
        mixture = unbeaten(gaps)
        top = mixture.argmax()
        large = np.where(mixture >= min(0.02, mixture[top]), mixture, 0)
        large = large / sum(large)  # one by one: who is drawn may depend on the last digit
        if mixture[top] > 0.9 and gaps[:, top].max() <= 0.02:
            mixture = np.eye(len(names))[top]
        elif (gaps @ large).max() <= 0.01:
            mixture = large
        for i in self.shares:
            self.record.pop(i, None)
            self.seen.pop(i, None)
        self.shares = {i: q for i, q in zip(names, mixture.tolist(), strict=True) if q > 0}
        self.king = names[mixture.argmax()]
        self.answers = 0
        for i in self.shares:
            self.open.pop(i, None)

    def change(self, t, arm, here):
        if not here:
            self.forget(arm)
        if here or arm not in self.shares:
            super().change(t, arm, here)
            return
        self.here.remove(arm)
        if not self.known:
            there = [j for j in self.order if j in self.here]
            heir = max(there, key=lambda j: self.record.get(j, 0.5))
            self.known.add(heir)
            self.crown(heir, t - 1)
            self.solved = 0
        self.solve()

    def hear(self, winner, loser, weight):
        self.known |= {winner, loser} & self.here
        if {winner, loser} <= self.known:
            self.wins[winner, loser] += weight
            self.fade(winner, loser, 300)
            self.solve()


class BordaKing(King):
    """King by Borda scores: a step of a match is two duels with the same arm."""

    rates = 0.15, 0.25

    def __init__(self, order):
        super().__init__(order)
        self.half, self.halves, self.won = None, {}, None

    def ask(self, t, draw):
        self.now = t
        if self.half is not None:
            (j, z), self.half = self.half, None
            if j in self.open and z in self.here:
                self.halves[t] = "king", j
                return self.king, j if z == self.king else z
            if j in self.open:
                self.settle(j, self.open[j], -1)
        j = self.challenger(t)
        if j is None:
            return self.king, self.king
        others = sorted(self.here - {j})
        z = others[int(draw() * len(others))]
        self.half, self.halves[t] = (j, z), ("challenger", j)
        return j, z

    def tell(self, t, first, second, won):
        whose, j = self.halves.get(t, (None, None))
        if whose == "challenger":
            self.won = won
        if whose != "king":
            return 0
        match = self.open.get(j)
        if match is None or t < match.since:
            self.dropped += 1
            return 0
        step = None if -1 in (won, self.won) else self.won - won
        said = self.settle(j, match, {None: -1, 0: -1, 1: 0, -1: 1}[step])
        if said is None:
            return 0
        self.crown(j, self.now)
        return int(said == "alarm")

    def hear(self, winner, loser, weight):
        self.votes[winner, loser] += weight

        def borda(i):
            pairs = [(self.votes[i, j], self.votes[j, i]) for j in sorted(self.here)]
            return sum(won / (won + lost) if won + lost else 0.5 for won, lost in pairs)

        self.king = max((j for j in self.order if j in self.here), key=borda)


def without(counts, i):
    """Counts of pairs, but for those with one arm."""
    return defaultdict(float, {pair: n for pair, n in counts.items() if i not in pair})


def unbeaten(gaps):
    """The mixture that the house finds: of several, any that nobody beats will do."""
    mixture = np.empty(len(gaps))
    solve(gaps, len(gaps), *workspace(len(gaps)), mixture)
    assert (mixture >= 0).all()
    assert abs(mixture.sum() - 1) < 1e-12
    assert (gaps @ mixture).max() < 1e-12
    return mixture
