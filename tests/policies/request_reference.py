"""Slow, obvious forms of the policies that take requests: matrices are inverted, nothing is fused.

They follow docs/research/requests.md step by step and share no code with the kernels.
"""

import math

import numpy as np

DEVIATION = 2.0


class ReferenceFilter:
    """A Gaussian posterior by its precision matrix."""

    def __init__(self, arms, d, memory):
        self.arms, self.d, self.memory = arms, d, memory
        self.size = arms * d
        self.mean = np.zeros(self.size)
        self.covariance = DEVIATION**2 * np.eye(self.size)

    def copy(self, other):
        self.mean, self.covariance = other.mean.copy(), other.covariance.copy()

    def direction(self, first, second, x):
        z = np.zeros(self.size)
        z[first * self.d : (first + 1) * self.d] += x
        z[second * self.d : (second + 1) * self.d] -= x
        return z

    def variance(self, first, second, x):
        z = self.direction(first, second, x)
        return z @ self.covariance @ z

    def absorb(self, z, curvature, step):
        """One Newton step of a quadratic likelihood, by the inverse of the new precision."""
        precision = np.linalg.inv(self.covariance) + curvature * np.outer(z, z)
        new = np.linalg.inv(precision)
        self.mean = self.mean + new @ z * step
        self.covariance = (new + new.T) / 2

    def update(self, first, second, x, won, weight=1.0):
        z = self.direction(first, second, x)
        v = z @ self.covariance @ z
        p = 1 / (1 + math.exp(-(z @ self.mean) / math.sqrt(1 + math.pi * v / 8)))
        score = math.log(max(1e-9, p if won else 1 - p))
        self.absorb(z, weight * max(p * (1 - p), 0.02), weight * (won - p))
        return score

    def forget(self, t):
        if not self.memory:
            return
        pause = max(1, math.floor(self.memory / (32 * self.size)))
        if t % pause:
            return
        self.covariance = self.covariance * math.exp(pause / self.memory)
        i = (t // pause) % self.size
        h = (1 - math.exp(-pause / self.memory)) * self.size / DEVIATION**2
        self.absorb(np.eye(self.size)[i], h, -h * self.mean[i])


class Reference:
    """What all policies share."""

    def __init__(self, arms, d, memory, width, mode):
        self.arms, self.d, self.width, self.panel = arms, d, width, mode == "panel"
        self.present, self.prices = set(range(arms)), np.zeros(arms)
        self.clock = 0
        self.draw, self.newcomers = (
            None,
            {},
        )  # newcomers: the round before their first one, when due
        self.make_filters(memory)

    def make_filters(self, memory):
        self.filters = [ReferenceFilter(self.arms, self.d, memory)]

    def net(self, one, x):
        return {
            i: one.mean[i * self.d : (i + 1) * self.d] @ x - self.prices[i]
            for i in sorted(self.present)
        }

    @staticmethod
    def argmax(values):
        return max(values, key=lambda i: (round(values[i], 9), -i)) if values else None

    def ask(self, x):
        self.clock += 1
        pair = self.shown(self.choose(x))
        for one in self.filters:
            one.forget(self.clock)
        return pair

    def shown(self, pair):
        waiting = sorted(i for i, (_, due) in self.newcomers.items() if due <= self.clock)
        others = [i for i in waiting if i != pair[0]]
        pair = (pair[0], others[0] if others else pair[1])
        for i in {*pair} & {*waiting}:
            joined, _ = self.newcomers[i]
            self.newcomers[i] = joined, self.clock + self.clock - joined
        return pair

    def tell(self, first, second, won, x):
        self.filters[0].update(first, second, x, won)

    def optimistic(self, first, x, without):
        one = self.filters[0]
        net = self.net(one, x)
        values = {
            i: net[i] + self.width * math.sqrt(one.variance(i, first, x) if i != first else 0)
            for i in net
            if i != without
        }
        best = self.argmax(values)
        return first if best is None else best

    def normal(self):
        while True:
            x, y = 2 * self.draw() - 1, 2 * self.draw() - 1
            square = x * x + y * y
            if 0 < square < 1:
                return x * math.sqrt(-2 * math.log(square) / square)


class LinUcb(Reference):
    def choose(self, x):
        first = self.argmax(self.net(self.filters[0], x))
        return first, self.optimistic(first, x, first if self.panel else None)


class CoLstim(Reference):
    def choose(self, x):
        one = self.filters[0]
        values = {}
        noise = [-math.log(-math.log(self.draw())) - 0.5772156649015329 for _ in range(self.arms)]
        for i, net in self.net(one, x).items():
            block = slice(i * self.d, (i + 1) * self.d)
            deviation = math.sqrt(x @ one.covariance[block, block] @ x)
            values[i] = net + self.width * min(3, max(-3, noise[i])) * deviation
        first = self.argmax(values)
        return first, self.optimistic(first, x, first if self.panel else None)


class MaxInP(Reference):
    def choose(self, x):
        one = self.filters[0]
        net = self.net(one, x)
        kept = [
            i
            for i in net
            if all(
                net[i] - net[j] + self.width * math.sqrt(one.variance(i, j, x)) >= 0
                for j in net
                if j != i
            )
        ]
        pairs = {(j, i): one.variance(i, j, x) for i in kept for j in kept if j < i}
        if pairs:
            return max(pairs, key=lambda pair: (round(pairs[pair], 9), -pair[1], -pair[0]))
        first = kept[0]
        return first, self.optimistic(first, x, first) if self.panel else first


class LinTs(Reference):
    """The draw needs the policy's own factor of the covariance, so it keeps one."""

    def make_filters(self, memory):
        super().make_filters(memory)
        self.factor = DEVIATION * np.eye(self.arms * self.d)
        one = self.filters[0]
        plain = one.absorb

        def absorb(z, curvature, step):
            f = self.factor.T @ z
            v = f @ f
            shrink = (1 - 1 / math.sqrt(1 + curvature * v)) / v
            plain(z, curvature, step)
            self.factor = self.factor - shrink * np.outer(self.factor @ f, f)

        one.absorb = absorb

    def ask(self, x):
        self.clock += 1
        pair = self.shown(self.choose(x))
        one = self.filters[0]
        pause = max(1, math.floor(one.memory / (32 * one.size)))
        if self.clock % pause == 0:
            self.factor = self.factor * math.exp(pause / (2 * one.memory))
        one.forget(self.clock)
        np.testing.assert_allclose(self.factor @ self.factor.T, one.covariance, atol=1e-7)
        return pair

    def favourite(self, x, without=None):
        e = np.array([self.normal() for _ in range(self.arms * self.d)])
        theta = self.filters[0].mean + self.width * self.factor @ e
        values = {
            i: theta[i * self.d : (i + 1) * self.d] @ x - self.prices[i]
            for i in sorted(self.present)
            if i != without
        }
        return self.argmax(values)

    def choose(self, x):
        first = self.favourite(x)
        return first, self.favourite(x, first if self.panel else None)


class AdaptiveLogistic(Reference):
    growth, contest, inherit = 0.5, 2.0, 1.5

    def make_filters(self, memory):
        size = self.arms * self.d
        self.memories = [8 * size * 2.5**m for m in range(6)] + [math.inf]
        self.filters = [
            ReferenceFilter(self.arms, self.d, 0 if n == math.inf else n) for n in self.memories
        ]
        self.evidence, self.starts = np.zeros((7, 7)), np.zeros(7)
        self.alarms = self.due = self.turn = 0

    def longer(self, rounds, most):
        return next((m for m in range(most) if self.memories[m] >= rounds), most)

    def options(self, m, leader, x):
        """Return (net advantage, variance, share of the prior variance) of each other option."""
        one = self.filters[m]
        net = self.net(one, x)
        return {
            i: (
                net[i] - net[leader],
                one.variance(i, leader, x),
                one.variance(i, leader, x) / (4 * 2),
            )
            for i in net
            if i != leader
        }

    def pick(self, leader, values, floor=0.0):
        best = self.argmax(values)
        return best if best is not None and values[best] > floor else leader

    def choose(self, x):
        lam = (0.5 + self.alarms) / self.clock
        root = 1 / math.sqrt(lam)
        l = self.longer(0.4 * self.clock / (0.5 + self.alarms), 6)  # noqa: E741
        a = self.argmax(self.net(self.filters[l], x))
        b = a
        if l > 0:
            m = int(np.argmax(self.evidence[l, :l]))
            if self.evidence[l, m] > self.contest:
                b = self.argmax(self.net(self.filters[m], x))
        if b == a:
            values = {
                i: n + math.sqrt(v) * (0.5 + 1.5 * rho)
                for i, (n, v, rho) in self.options(l, a, x).items()
            }
            b = self.pick(a, values, -math.inf if self.panel else 0.0)
        if self.panel:
            return a, b
        if b == a and self.due >= 1:
            self.turn += 1
            if self.turn % 2 == 0 or l == 0:
                values = {i: n + 2 * math.sqrt(v) for i, (n, v, _) in self.options(l, a, x).items()}
                b = self.pick(a, values)
        if b == a and l > 0 and self.due > -5:
            w = self.longer(root, l - 1)
            values = {
                i: n + math.sqrt(v)
                for i, (n, v, rho) in self.options(w, a, x).items()
                if (self.due >= 1 and rho >= 0.5) or (n > 0 and self.evidence[l, w] > 0.2)
            }
            b = self.pick(a, values)
        if b == a and l > 0:
            w = self.longer(self.arms * self.d * root / 2, l - 1)
            values = {
                i: n + math.sqrt(v)
                for i, (n, v, rho) in self.options(w, a, x).items()
                if rho >= 0.5
            }
            b = self.pick(a, values)
        self.due = min(1, self.due + 6 * math.sqrt(lam))
        if a != b:
            self.due = max(self.due - 1, -20)
        return a, b

    def tell(self, first, second, won, x):
        scores = [one.update(first, second, x, won) for one in self.filters]
        for l in range(6, 0, -1):  # noqa: E741
            for m in range(l):
                self.starts[l] += self.evidence[l, m] == 0
                self.evidence[l, m] = max(0, self.evidence[l, m] + scores[m] - scores[l])
            bar = math.log(50 + self.growth * self.starts[l])
            if self.evidence[l, :l].max() > bar:
                m = max(m for m in range(l) if self.evidence[l, m] > bar - self.inherit)
                self.filters[l].copy(self.filters[m])
                self.evidence[l, :] = 0
                self.evidence[l + 1 :, l] = 0
                self.alarms += l == 6


REFERENCES = {
    "adaptive-logistic": AdaptiveLogistic,
    "lin-ucb": LinUcb,
    "lin-ts": LinTs,
    "colstim": CoLstim,
    "maxinp": MaxInP,
}
