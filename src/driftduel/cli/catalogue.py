"""Short lists of policies and worlds by kind, with the purpose of each in a few words.

The long lists are read from the registries and the class attributes. A name that is missing from
both dictionaries, such as a user's class, is listed last, with the beginning of its summary.
"""

__all__ = ["POLICIES", "WORLDS"]

Groups = dict[str, dict[str, str]]

POLICIES: Groups = {
    "Without prior knowledge, for preferences that change (ours)": {
        "king": "one arm stays until a challenger beats it; try it first",
        "court": "the same for a mixture of arms, without a Condorcet winner",
        "borda-king": "the same by Borda scores: the share of duels won",
    },
    "For preferences that change": {
        "anaconda": "near-optimal for any number of changes, at long horizons",
        "metaswift": "one candidate against all others, replays, restarts",
        "btwr": "matches that grow longer while the winner stays",
        "dex3s": "two learners that share weight; needs the total variation",
        "exp3s": "two EXP3.S learners; requires the number of switches",
        "borda-dex3s": "the same by Borda scores",
    },
    "For requests with features, also with prices": {
        "adaptive-logistic": "chooses its forgetting by evidence (ours)",
        "lin-ucb": "best mean and its optimistic rival; requires memory",
        "lin-ts": "two draws of the coefficients; requires memory",
        "colstim": "Gumbel noise and an optimistic rival; requires memory",
        "maxinp": "the most uncertain pair that may be best; requires memory",
    },
    "For stationary preferences": {
        "dts": "Double Thompson Sampling; the strongest baseline",
        "ttts": "for few votes: finds the best arm from pairwise comparisons",
        "dts-plus": "the same, with ties broken by their expected regret",
        "rucb": "upper confidence bounds, relative to each other",
        "rcs": "a sampled champion against the most hopeful challenger",
        "rmed1": "by likelihood; asymptotically optimal up to a constant",
        "rmed2": "by likelihood; asymptotically optimal",
        "rmed2fh": "the same for a known number of rounds",
        "self-sparring": "one Thompson sampler, drawn from once a place",
        "multi-dueling": "all that may be best on one slate, by confidence bounds",
        "maxmin-ucb": "a slate built up by upper confidence bounds",
        "sparring": "two UCB bandits against each other",
        "doubler": "a UCB bandit against its past choices",
        "multisbm": "a UCB bandit for every left arm",
        "savage": "all pairs of possible winners, evenly",
        "btm": "Beat the Mean: eliminates arms that lose to the average",
        "if": "Interleaved Filter: one candidate against all",
        "btw": "Beat the Winner: matches that grow longer",
        "wsw": "Winner Stays, for weak regret",
        "wss": "Winner Stays, for strong regret",
        "ccb": "Copeland winners, by confidence bounds",
        "scb": "Copeland winners among many arms",
    },
    "To identify the best arm or a ranking, for stationary preferences": {
        "active-ranking": "all ranks, or the top k, by Borda scores, with confidence",
        "knockout": "a tournament for the best arm up to eps, with confidence",
        "parwis": "the winner from a few times K votes, by a spectral ranking",
    },
    "For preferences that an adversary chooses": {
        "vdb": "two Tsallis-INF learners, without prior knowledge",
        "dex3p": "two EXP3.P learners",
        "rex3": "one exponential-weights distribution, drawn from twice",
        "dexp3": "the same by Borda scores",
    },
    "Wrappers of another policy, such as sw-dts": {
        "sw-*": "uses the most recent answers only (sliding window)",
        "discounted-*": "discounts older answers geometrically",
        "glr-*": "restarts when a change of some pair is detected",
        "mdb-*": "the same, with forced exploration of all pairs",
        "detect-*": "explores, then monitors the best guess",
        "periodic-*": "restarts after a fixed number of rounds",
        "oracle-*": "restarts when the winner changes; needs the change times",
        "doubling-*": "epochs of doubling length, for policies that need a horizon",
        "anew-*": "restarts whenever an option joins or leaves",
        "slate-*": "shows its duel on a slate, beside other options",
    },
    "Baseline": {
        "uniform": "chooses both arms at random, and does not learn",
    },
}

WORLDS: Groups = {
    "Piecewise stationary": {
        "geometric-btl": "a ladder of arms, shuffled in each phase; start here",
        "total-order": "the better of any two arms wins with probability p",
        "random-condorcet": "random entries and one winner",
        "utilities": "random utilities, mapped to probabilities by a link",
        "lone-winner": "one arm beats all others, which are equal: hard",
        "ladder": "the best leads the second by p, the others are close",
        "two-arm": "two arms that swap halfway: the paper's Example 2.1",
        "saha-gupta-switching": "a random matrix, changed at switches",
    },
    "Patterns of real applications": {
        "restless": "changes at a fixed rate, for any number of rounds",
        "recurring": "a few regimes that recur",
        "bursts": "many changes in a row, then a long stationary phase",
        "overtake": "one arm climbs to the top of a ladder at a time",
        "league": "teams with strengths that carry over to the next season",
        "crossing": "two leading arms that slowly change places",
        "surges": "fashions: an arm jumps up and fades",
        "tastes": "options with features and a rotating taste; or requests",
    },
    "Continuously drifting": {
        "seasonal": "utilities that oscillate",
        "random-walk": "utilities that follow random walks",
        "interpolated": "linear interpolation from one ladder to the next",
        "alternating": "only losers change: the paper's Remark 2.1",
        "fleeting": "changes in every round, hence unlearnable",
        "saha-gupta-static": "a random matrix with fresh noise in each round",
        "saha-gupta-continuous": "a random matrix that drifts",
    },
    "Options that join and leave": {
        "arrivals": "new arms replace the worst ones",
        "sleeping": "arms become absent and present again",
        "retire-best": "the best arm leaves, repeatedly",
    },
    "Without a Condorcet winner in some or all rounds": {
        "cycle": "all arms in one cycle",
        "rps-top": "rock, paper, scissors at the top",
        "skew-top": "the same, with an uneven cycle",
        "clash": "two arms, one best by Copeland, one by Borda scores",
        "mixed": "a winner in every other phase",
        "uniform-random": "random entries, with or without a winner",
    },
    "From data and from the literature": {
        "file": "an NPZ file, or a matrix in a CSV file",
        "log": "fitted to a log of real comparisons",
        "preflib": "shares of rankings: PrefLib files, or a CSV table",
        "named": "matrices from the literature, stationary",
    },
    "With a request in every round, which decides the best option": {
        "routing": "utilities linear in the request, changes of all kinds",
        "table": "a table of requests with a score for each option",
    },
}
