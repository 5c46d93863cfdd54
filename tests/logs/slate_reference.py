"""Slow, obvious reference implementations of the Plackett-Luce model for slates."""

import math
from itertools import combinations

import numpy as np

from driftduel.logs.slate_cells import UNRANKED


def stages(places):
    """Return (picked, remaining) of each pick: positions in the slate, the best first.

    Each option of a tie is a pick from all options from its place downwards.
    """
    found = []
    for picked, place in enumerate(places):
        remaining = [m for m, other in enumerate(places) if other >= place]
        if place != UNRANKED and len(remaining) > 1:
            found.append((picked, remaining))
    return sorted(found, key=lambda stage: (places[stage[0]], stage[0]))


def votes(places, strengths):
    """Return {(winner, loser): weight} and {(a, b): weight of the tie}, by positions."""
    won, tied = {}, {}
    for a, b in combinations(range(len(places)), 2):
        if places[a] == places[b] == UNRANKED:
            continue
        stage = min(places[a], places[b])
        total = sum(s for s, place in zip(strengths, places, strict=True) if place >= stage)
        weight = round((strengths[a] + strengths[b]) / total * 2**30) / 2**30
        if places[a] == places[b]:
            tied[a, b] = weight
        else:
            won[(a, b) if places[a] < places[b] else (b, a)] = weight
    return won, tied


def log_likelihood(slates, utilities):
    """Return the Plackett-Luce log likelihood of slates (options, places) without ties."""
    total = 0.0
    for options, places in slates:
        for picked, remaining in stages(places):
            logs = [utilities[options[m]] for m in remaining]
            total += utilities[options[picked]] - math.log(sum(map(math.exp, logs)))
    return total


def pick_probabilities(utilities):
    """Return the probability of each option of a slate to be picked."""
    odds = np.exp(np.asarray(utilities) - np.max(utilities))
    return odds / odds.sum()


def all_rankings(utilities):
    """Return every ranking of a slate (positions, best first) with its probability."""
    if len(utilities) == 1:
        return [((0,), 1.0)]
    found = []
    for first, chance in enumerate(pick_probabilities(utilities)):
        rest = [m for m in range(len(utilities)) if m != first]
        for order, share in all_rankings([utilities[m] for m in rest]):
            found.append(((first, *(rest[m] for m in order)), chance * share))
    return found


def draw(utilities, shown, rng):
    """Draw a ranking of the options shown, best first."""
    left, order = list(shown), []
    while left:
        chances = pick_probabilities([utilities[i] for i in left])
        order.append(left.pop(int(rng.choice(len(left), p=chances))))
    return order


def posterior(slates, options, precision, draws, rng):
    """Return draws of the exact posterior of the utilities, by importance resampling.

    The prior is normal with this precision around 0. The proposal is a t distribution with five
    degrees of freedom at the mode, which is found by Newton's method on numerical derivatives.
    """
    shape = max(len(o) for o, _ in slates)
    picks = [(o[p], [o[m] for m in r]) for o, places in slates for p, r in stages(places)]
    table = np.full((len(picks), shape), -1)
    for row, (_, remaining) in zip(table, picks, strict=True):
        row[: len(remaining)] = remaining
    winner = np.array([w for w, _ in picks])
    kinds, often = np.unique(np.column_stack((winner, table)), axis=0, return_counts=True)
    winner, table = kinds[:, 0], kinds[:, 1:]

    def log_density(u):
        padded = np.concatenate((u, np.full((*u.shape[:-1], 1), -np.inf)), axis=-1)
        logs = np.logaddexp.reduce(padded[..., table], axis=-1)
        fit = ((u[..., winner] - logs) * often).sum(axis=-1)
        return fit - precision / 2 * (u**2).sum(axis=-1)

    mode, information = np.zeros(options), np.eye(options)
    for _ in range(50):
        odds = np.where(table >= 0, np.exp(np.append(mode, -np.inf)[table]), 0.0)
        q = np.zeros((len(table), options + 1))
        np.add.at(q, (np.arange(len(table))[:, None], table), odds / odds.sum(axis=1)[:, None])
        q = q[:, :options]
        gradient = np.bincount(winner, often, options) - often @ q - precision * mode
        information = np.diag(often @ q) - (q.T * often) @ q + precision * np.eye(options)
        step = np.linalg.solve(information, gradient)
        mode = mode + np.clip(step, -1, 1)
        if np.abs(step).max() < 1e-9:
            break
    degrees = 5
    root = np.linalg.cholesky(np.linalg.inv(information))
    z = rng.normal(size=(draws, options)) / np.sqrt(rng.chisquare(degrees, (draws, 1)) / degrees)
    u = mode + z @ root.T
    proposed = -(degrees + options) / 2 * np.log1p((z**2).sum(axis=1) / degrees)
    logs = np.concatenate([log_density(part) for part in np.array_split(u, 20)]) - proposed
    weight = np.exp(logs - logs.max())
    return u[rng.choice(draws, size=draws, p=weight / weight.sum())]
