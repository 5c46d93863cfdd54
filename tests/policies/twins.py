"""Slow, obvious twins of what goes around a policy, and of some policies to go inside.

Lists, dictionaries and the formulas as they are printed; nothing is shared with the kernels but the
order in which random numbers are drawn, and how one is drawn from a beta distribution, or found to
be below 1/2. Each has `ask(t, draw)`, which returns two arms, and `tell(t, first, second, won)`,
which returns whether everything was forgotten. `draw()` gives a uniform number. Those that say so
have `change(t, arm, here)`, too, and `hear(winner, loser, weight)`.
"""

import math
from collections import defaultdict
from itertools import combinations

import numpy as np

from driftduel._internal.kernel_random import address_of, beta
from driftduel._internal.minimax import least_exploited, solve, workspace
from driftduel.policies._tails import beats, doubt, resolve


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

    def add_past_vote(self, winner, loser, weight):
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

    def add_past_vote(self, winner, loser, weight):
        self.wins[winner][loser] += weight

    def best_guess(self):
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


class Coins:
    """Coins that hardly ever fall: one number tells which is the next that does."""

    def __init__(self, draw):
        self.draw = draw
        self.anew()

    def anew(self):
        self.u, self.none_fell = self.draw(), 1.0

    def fall(self, chance):
        self.none_fell *= 1 - chance
        return self.u >= self.none_fell


class Dts(Rucb):
    """DTS and DTS+ as in the paper, but samples are drawn only once they are needed."""

    def __init__(self, K, plus=False):
        self.plus = plus
        super().__init__(K)

    def reset(self):
        super().reset()
        self.leader = 0

    def ask(self, t, draw):
        S, w = self.here, self.wins
        self.rng, self.draw, self.theta, coins = address_of(draw.__self__), draw, {}, Coins(draw)
        self.rivals = {i: [j for j in S if j != i] for i in S}
        hopes = {i: [j for j in self.rivals[i] if self.u(i, j, t) >= 0.5] for i in S}
        C = [i for i in S if len(hopes[i]) == max(map(len, hopes.values()))]
        leader = self.leader
        drawn = leader in C and (len(C) > 1 or hopes[leader] == self.rivals[leader])
        if drawn and not self.upsets(leader, coins):
            first = leader
        elif len(C) == 1 and not drawn:
            first = C[0]
        else:
            first = self.champion(C, leader if drawn else None)
        if leader not in S or any(w[leader][j] < w[j][leader] for j in S):
            self.leader = first
        sample = {first: 0.5}
        for j in hopes[first]:
            a, b = w[j][first] + 1.0, w[first][j] + 1.0
            if coins.fall(doubt(a, b)):
                sample[j] = resolve(self.rng, a, b, doubt(a, b))
                coins.anew()
        return first, max(sample, key=sample.get)

    def upsets(self, leader, coins):
        """Draw who beats the leader; None stands for an unknown number below 1/2."""
        w = self.wins
        for j in self.rivals[leader]:
            a, b = w[j][leader] + 1.0, w[leader][j] + 1.0
            x = None
            if coins.fall(doubt(a, b)):
                if doubt(a, b) == 1 and not self.plus:
                    x = float(beats(self.rng, a, b))
                else:
                    x = resolve(self.rng, a, b, doubt(a, b)) or None
                coins.anew()
            self.theta[j, leader] = x
        return sum(x is not None and x > 0.5 for x in self.theta.values())

    def meet(self, i, j):
        """Draw one number of the sample, or complete it."""
        theta, w, rng = self.theta, self.wins, self.rng
        if (j, i) in theta:
            i, j = j, i
        a, b = w[i][j] + 1.0, w[j][i] + 1.0
        if (i, j) not in theta:
            theta[i, j] = beta(rng, a, b) if self.plus else float(beats(rng, a, b))
        while theta[i, j] is None:
            x = beta(rng, a, b) if self.plus else 0.0
            theta[i, j] = x if x <= 0.5 else None
        theta[j, i] = 1 - theta[i, j]

    def champion(self, C, leader):
        """Draw until nobody else can have lost so few duels; the leader's were drawn already."""
        theta, rivals = self.theta, self.rivals
        everything = [(i, j) for i in rivals for j in rivals if j < i]
        for i, j in everything if self.plus else [*theta]:
            self.meet(i, j)

        def defeats(i):
            return sum(theta.get((i, j), 1) <= 0.5 for j in rivals[i])

        def cost(i):
            """What everybody's lack of victories costs until it is told from i."""
            lacks = {j: defeats(j) - defeats(i) for j in rivals[i]}
            return sum(lack / divergence(theta[i, j]) for j, lack in lacks.items() if lack > 0)

        least, best = (math.inf, 0), []
        while C := [i for i in C if defeats(i) <= least[0]]:
            i = min(C, key=lambda i: (i != leader, defeats(i)))
            C.remove(i)
            for j in rivals[i]:
                if (i, j) not in theta:
                    self.meet(i, j)
            found = defeats(i), cost(i) if self.plus else 0
            if found < least:
                least, best, first = found, [i], i
            elif found == least:
                best.append(i)
                if self.draw() * len(best) < 1:
                    first = i
        return first


def normal(draw):
    """Draw a standard normal number by Marsaglia's polar method."""
    while True:
        x, y = 2 * draw() - 1, 2 * draw() - 1
        square = x * x + y * y
        if 0 < square < 1:
            return x * math.sqrt(-2 * math.log(square) / square)


class Ttts(Rucb):
    """Top-two Thompson sampling from the Laplace approximation, by dense linear algebra."""

    def __init__(self, K):
        super().__init__(K)
        self.prior = None

    def log_posterior(self, x):
        wins = np.array(self.wins, float)
        return (
            -((x - self.prior) ** 2).sum() / 2
            - (wins * np.logaddexp(0, x[None, :] - x[:, None])).sum()
        )

    def derivatives(self, x):
        wins = np.array(self.wins, float)
        p = 0.5 + 0.5 * np.tanh((x[:, None] - x[None, :]) / 2)
        n = wins + wins.T
        gradient = self.prior - x + (wins - n * p).sum(axis=1)
        weights = n * p * (1 - p)
        return gradient, np.eye(self.K) + np.diag(weights.sum(axis=1)) - weights

    def fit(self):
        """Newton's method from the prior mean; a step that does not pay is halved."""
        x = self.prior.copy()
        for _ in range(200):
            gradient, precision = self.derivatives(x)
            step = np.linalg.solve(precision, gradient)
            if abs(step).max() < 1e-11:
                break
            now = self.log_posterior(x)
            while abs(step).max() > 1e-6 and self.log_posterior(x + step) < now:
                step /= 2
            x = x + step
        self.x, self.precision = x, precision

    def best_of(self, strengths):
        return max(self.here, key=lambda arm: strengths[arm])

    def ask(self, t, draw):
        if self.prior is None:
            self.prior = np.array([1e-6 * draw() for _ in range(self.K)])
        self.fit()
        root = np.linalg.cholesky(self.precision)

        def leader():
            noise = [normal(draw) for _ in range(self.K)]
            return self.best_of(self.x + np.linalg.solve(root.T, noise))

        first = leader()
        if len(self.here) == 1:
            return first, first
        for _ in range(30):
            second = leader()
            if second != first:
                return first, second
        covariance = np.linalg.inv(self.precision)

        def hope(arm):
            apart = np.zeros(self.K)
            apart[arm], apart[first] = 1, -1
            return apart @ self.x / math.sqrt(max(1e-9, apart @ covariance @ apart))

        return first, max((arm for arm in self.here if arm != first), key=hope)

    def best_guess(self):
        self.fit()
        return self.best_of(self.x)


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

    def best_guess(self):
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

    def best_guess(self):
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

    def best_guess(self):
        return self.inner.best_guess()

    def change(self, t, arm, here):
        self.inner.change(t, arm, here)

    def add_past_vote(self, winner, loser, weight):
        self.inner.add_past_vote(winner, loser, weight)


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

    def add_past_vote(self, winner, loser, weight):
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

    def add_past_vote(self, winner, loser, weight):
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
            self.incumbent = self.inner.best_guess()
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

    def best_guess(self):
        return self.inner.best_guess() if self.incumbent is None else self.incumbent


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
        self.outcomes, self.tied, self.duels = [], 0, 0

    @property
    def lead(self):
        return sum(self.outcomes)

    @property
    def wealth(self):
        stakes = [0.8 / 2**k for k in range(6)]
        return sum(math.prod((1 + s * x for x in self.outcomes), start=1.0) / 6 for s in stakes)


class FirstKing:
    """King of the hill, first edition: dictionaries, and a match as the list of its outcomes."""

    def __init__(self, order):
        self.order, self.place = list(order), 0
        self.here, self.king, self.crowned, self.now = set(order), order[0], 0, 0
        self.due, self.alarms, self.matches, self.held, self.waited, self.last = 0.0, 0, 0, 0, 0, 0
        self.open, self.record, self.seen = {}, {}, {}
        self.newcomers = {}  # when it came, when its next match is due, how many it has had
        self.votes = defaultdict(float)
        self.dropped = 0

    rates = 1 / 2, 1 / 2
    a_match = Match

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
                return self.challenge(self.next(t), t)
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
        self.due += min(1, self.matches_due(t))
        if self.due < 1:
            return None
        if len(self.open) == K - 1:
            self.due = 1.0
            return None
        self.due -= 1
        return self.challenge(self.next(t), t)

    def matches_due(self, t):
        rate, fresh_rate = self.rates
        K, age = self.size(), max(1, t - self.crowned)
        return rate * math.sqrt(K * (1 + self.alarms) / t) + fresh_rate * K / age

    def next(self, t):
        free = self.free()
        if self.matches % 4 == 3 and self.held >= self.size() - 1:
            return max(free, key=lambda j: self.record.get(j, 0.5))
        while True:
            j = self.order[self.place]
            self.place = (self.place + 1) % len(self.order)
            if j in free:
                return j

    def challenge(self, j, t, out=1, asked=None):
        self.open[j] = self.a_match(t, asked or t, out)
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
        self.note_record(j, match, won)
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

    def note_record(self, j, match, won):
        match.tied = 0
        n = self.seen[j] = self.seen.get(j, 0) + 1
        before = self.record.get(j, 0.5)
        self.record[j] = before + max(0.05, 1 / (n + 2)) * ((1 - won) - before)
        match.outcomes.append(1 - 2 * won)

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

    def add_past_vote(self, winner, loser, weight):
        self.votes[winner, loser] += weight

        def leads(i):
            majorities = sum(self.votes[i, j] > self.votes[j, i] for j in self.order)
            won = sum(self.votes[i, j] for j in range(len(self.order)))
            lost = sum(self.votes[j, i] for j in range(len(self.order)))
            return majorities, won / (won + lost) if won + lost else 0.5

        self.king = max((j for j in self.order if j in self.here), key=leads)

    def best_guess(self):
        return self.king


class DoomedMatch(Match):
    """A match whose bets lose everything when the challenger is one behind."""

    @property
    def wealth(self):
        n, total = len(self.outcomes), 0.0
        for s in (0.8 / 2**k for k in range(6)):
            c = math.atanh(s)
            total += (1 - s * s) ** (n / 2) * math.sinh((self.lead + 1) * c) / math.sinh(c)
        return total / 6


def second_edition(king, j, match, won, lost=None):
    """Return whether a king or a court falls, or falls with an alarm, after a duel of a match."""
    match.out, king.waited = max(0, match.out - 1), king.waited + 1
    if won == -1:
        match.tied += 1
        if match.tied == 64:
            del king.open[j]
        return None
    king.note_record(j, match, won)
    if match.lead < 0 and match.out:
        match.outcomes.clear()
        king.matches, king.held = king.matches + 1, king.held + 1
        if lost is not None:
            lost(j)
        return None
    if match.lead < 0 or match.wealth < 0.001:
        del king.open[j]
        return None
    easy, others = max(12.5, king.size() / 2), king.size() - 1
    fresh, beyond_doubt = easy * 2 ** (king.held / others), 4 * easy + king.matches / 2
    if j in king.newcomers:
        fresh = min(fresh, 12.5 * 2 ** (king.newcomers[j][2] - 1))
    established = fresh >= beyond_doubt
    if match.wealth < min(beyond_doubt, fresh):
        return None
    king.alarms += established
    return "alarm" if established else "fall"


class King(FirstKing):
    """King of the hill, by its docstring."""

    a_match = DoomedMatch

    def __init__(self, order):
        super().__init__(order)
        self.falls, self.reigned, self.kinds = [], {}, {}
        self.credit, self.successions = defaultdict(float), defaultdict(int)
        self.crowd, self.rhythm = len(order), 0.0

    def matches_due(self, t):
        falls = max((0.5 + len(self.falls)) / t, self.rhythm)
        return math.sqrt(self.crowd * falls) / 2 + len(self.here) / max(1, t - self.crowned) / 2

    def next(self, t):
        others = [j for j in sorted(self.here) if j != self.king]
        closest = []
        if self.held >= len(others):
            closest = [max(others, key=lambda j: self.record.get(j, 0.5))]
        former = [j for j in others if j in self.reigned and j not in closest]
        former.sort(key=lambda j: -self.reigned[j])
        kinds = {"closest": closest, "last": former[:1], "earlier": former[1:3]}
        named = [j for arms in kinds.values() for j in arms]
        kinds["other"] = [j for j in others if j not in named]
        seen, weights = sum(self.successions.values()), {}
        for kind, arms in kinds.items():
            chance = 3 * len(arms) / len(others) + 3 * (kind == "closest") + self.successions[kind]
            for j in arms:
                weights[j] = math.sqrt(chance / (3 + 3 + seen) / len(arms)), kind
        free, chosen = [j for j in self.order if j in others and j not in self.open], None
        for j in free:
            self.credit[j] += weights[j][0] / sum(weights[i][0] for i in free)
            if chosen is None or self.credit[j] > self.credit[chosen] + 1e-9:
                chosen = j
        self.credit[chosen] -= 1
        for j in [j for j in self.order if j not in self.open]:
            self.kinds[j] = weights.get(j, (0.0, "other"))[1]
        self.crowd = 1 + sum(weight for weight, _ in weights.values()) ** 2
        counts = [n for n in (2, 4, 8, 16, 32) if n <= len(self.falls)]
        self.rhythm = max((n / 2 / (t - self.falls[-n] + 1) for n in counts), default=0.0)
        return chosen

    def settle(self, j, match, won):
        met_twice, met_all = (self.held >= n * (len(self.here) - 1) for n in (2, 1))
        said = second_edition(self, j, match, won)
        if said is None:
            return None
        if said == "alarm" or met_twice:
            self.falls.append(self.now)
        if met_all:
            self.reigned[self.king] = self.now
            self.successions[self.kinds.get(j, "other")] += 1
        return said


class Court(FirstKing):
    """A king that may be a mixture, by its docstring; the shares of those who have one."""

    a_match = DoomedMatch

    def __init__(self, order):
        super().__init__(order)
        self.shares, self.known = {order[0]: 1.0}, {order[0]}
        self.tilted, self.opponents, self.played = dict(self.shares), {}, defaultdict(float)
        self.wins, self.recent, self.met = (defaultdict(float) for _ in range(3))
        self.answers, self.solved, self.in_court = 0, 0, set()
        self.seen_to_happen = dict.fromkeys(("solved", "changed", "introduced"), 0)

    def free(self):
        return [j for j in sorted(self.here) if j not in self.shares and j not in self.open]

    def size(self):
        return len(self.here) - len(self.shares) + 1

    def ask(self, t, draw):
        self.now = t
        mixing = len(self.shares) > 1
        j = self.challenger(t)
        if j is not None:
            first = self.somebody(self.shares, draw)
            self.played[first] += 1
            return first, j
        first = self.somebody(self.tilted, draw)
        second = self.somebody(self.opponents.get(first, self.tilted), draw)
        if mixing:
            self.in_court.add(t)
        self.played[first] += 1
        self.played[second] += 1
        return first, second

    def matches_due(self, t):
        K, age = self.size(), max(1, t - self.crowned)
        return math.sqrt(K * (0.5 + self.alarms) / t) / 2 + K / age / 2

    def settle(self, j, match, won):
        def lost(j):
            self.met, match.duels = without(self.met, j), 0

        return second_edition(self, j, match, won, lost)

    def age(self):
        return 1 + 0.1 * self.solved

    def somebody(self, chances, draw):
        if len(self.shares) == 1:
            return self.king
        u = draw() * (1 if chances in (self.shares, self.tilted) else chances["all"])
        for i in sorted(each for each in chances if each != "all"):
            u -= chances[i]
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
                self.recent[winner, loser] += 1
                fade(self.wins, first, second, 200 * self.age())
                fade(self.recent, first, second, 100)
                self.answers += 1
                if self.answers >= 64 * self.age():
                    self.solved += 1
                    if self.changed():
                        self.seen_to_happen["changed"] += 1
                        self.renew(30)
                        self.played.clear()
                    self.solve()
            return 0
        if won >= 0:
            self.met[winner, loser] += 1
            match.duels += 1
        said = self.settle(second, match, won)
        if said is not None:
            self.join(second, said == "alarm")
        elif second in self.open and len(self.shares) > 1 and match.duels >= 256:
            self.seen_to_happen["introduced"] += 1
            del self.open[second]
            self.introduce(second)
            self.solve()
        return int(said == "alarm")

    def join(self, j, alarm):
        if alarm and len(self.shares) == 1:
            for i in self.known - {self.king}:
                self.forget(i)
        if alarm:
            self.played.clear()
        self.introduce(j)
        self.renew(200)
        self.crown(j, self.now)
        self.solve()

    def introduce(self, j):
        for i in self.known - {j}:
            if self.met[i, j] + self.met[j, i] > 0:
                self.recent[i, j], self.recent[j, i] = self.met[i, j], self.met[j, i]
            elif self.recent[i, j] + self.recent[j, i] > 0:
                fade(self.recent, i, j, 10)
            else:
                self.recent[j, i] = 1
            self.wins[i, j], self.wins[j, i] = self.recent[i, j], self.recent[j, i]
        self.known.add(j)

    def changed(self):
        squares = []
        for i, j in combinations(sorted(self.known), 2):
            n, lately = (each[i, j] + each[j, i] for each in (self.wins, self.recent))
            if lately >= 50 and n >= 2 * lately:
                p, q = self.wins[i, j] / n, self.recent[i, j] / lately
                squares.append((q - p) ** 2 / ((p * (1 - p) + 1 / lately) / (2 * lately)))
        return sum(squares) > 20 + 2 * len(squares)

    def renew(self, most):
        for i, j in combinations(sorted(self.known), 2):
            fade(self.recent, i, j, most)
        self.wins, self.solved = defaultdict(float, self.recent), 0

    def forget(self, i):
        self.known.discard(i)
        self.played.pop(i, None)
        self.wins, self.recent = without(self.wins, i), without(self.recent, i)

    def solve(self):
        self.seen_to_happen["solved"] += 1
        names = sorted(self.known)
        won = np.array([[self.wins[i, j] for j in names] for i in names])
        gaps = np.tril((won + 1) / (won + won.T + 2) - 0.5, -1)
        gaps -= gaps.T
        mixture = unbeaten(gaps)
        top = mixture.argmax()
        small, harm = 0.02 / self.age(), 0.01 / self.age()
        large = np.where(mixture >= min(small, mixture[top]), mixture, 0)
        large = large / sum(large)  # one by one: who is drawn may depend on the last digit
        if mixture[top] > 0.9 and gaps[:, top].max() <= small:
            mixture = np.eye(len(names))[top]
        elif (gaps @ large).max() <= harm:
            mixture = large
        for i in self.shares:
            self.record.pop(i, None)
            self.seen.pop(i, None)
        self.shares = {i: q for i, q in zip(names, mixture.tolist(), strict=True) if q > 0}
        self.king = names[mixture.argmax()]
        self.answers = 0
        for i in self.shares:
            self.open.pop(i, None)
        self.make_up(names, gaps)

    def make_up(self, names, gaps):
        """Tilt the shares towards what repays earlier gains; let no arm meet itself."""
        self.tilted, self.opponents = dict(self.shares), {}
        if len(self.shares) == 1:
            return
        ahead = max(128, sum(self.played.values()) / 2)
        seats = [a for a, i in enumerate(names) if i in self.shares]
        gained = [sum(self.played[i] * gaps[a, b] for b, i in enumerate(names)) for a in seats]
        payoffs = gaps[np.ix_(seats, seats)] + np.array(gained)[:, None] / ahead
        solution = np.empty(len(seats))
        least_exploited(payoffs, len(seats), *workspace(len(seats)), solution)
        for i, other in zip(sorted(self.shares), solution.tolist(), strict=True):
            self.tilted[i] += 0.5 * (other - self.tilted[i])
        if max(self.tilted.values()) >= 0.45:
            return
        weights = dict(self.tilted)
        for _ in range(20):
            weights = {i: q / (1 - weights[i]) for i, q in self.tilted.items()}
            whole = sum(weights[i] for i in sorted(weights))
            weights = {i: w / whole for i, w in weights.items()}
        whole = sum(weights[i] for i in sorted(weights))
        for i in self.shares:
            others = {k: w for k, w in weights.items() if k != i and w > 0}
            self.opponents[i] = {**others, "all": whole - weights[i]}

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

    def add_past_vote(self, winner, loser, weight):
        self.known |= {winner, loser} & self.here
        if {winner, loser} <= self.known:
            self.wins[winner, loser] += weight
            self.recent[winner, loser] += weight
            fade(self.recent, winner, loser, 100)
            self.solve()


class BordaKing(FirstKing):
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

    def add_past_vote(self, winner, loser, weight):
        self.votes[winner, loser] += weight

        def borda(i):
            pairs = [(self.votes[i, j], self.votes[j, i]) for j in sorted(self.here)]
            return sum(won / (won + lost) if won + lost else 0.5 for won, lost in pairs)

        self.king = max((j for j in self.order if j in self.here), key=borda)


def fade(counts, i, j, most):
    """Let a pair count for no more than this."""
    n = counts[i, j] + counts[j, i]
    if n > most:
        counts[i, j] *= most / n
        counts[j, i] *= most / n


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
