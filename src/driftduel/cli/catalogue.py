"""The short lists of policies and worlds: what each is for, in a few words, by kind.

The long lists are read from the registries and the classes' own words; this is where somebody
who looks for a name begins. A name that is not here, such as one of the user's own, is listed
last, with the beginning of its own summary.
"""

__all__ = ["POLICIES", "WORLDS"]

Groups = dict[str, dict[str, str]]

POLICIES: Groups = {
    "Told nothing, for preferences that change (ours)": {
        "king": "one arm stays until a challenger beats it; try it first",
        "king-0": "a simpler king, with a proof; slower",
        "court": "the same for a mixture of arms, where nobody beats everybody",
        "borda-king": "the same by Borda scores: who wins most duels",
    },
    "For preferences that change": {
        "anaconda": "near-optimal without knowing how often, at long horizons",
        "metaswift": "one candidate against all others, replays, restarts",
        "btwr": "matches that grow longer while the winner stays",
        "dex3s": "two learners that share weight, told how much changes",
        "exp3s": "two EXP3.S learners, told how often the winner switches",
        "borda-dex3s": "the same by Borda scores",
        "public-anaconda": "public code of that name; not the paper's algorithm",
    },
    "For preferences that stand still": {
        "dts": "Double Thompson Sampling; the one to beat",
        "ttts": "few votes: finds the best of two-option comparisons",
        "dts-plus": "the same, with ties broken by what they cost",
        "rucb": "upper confidence bounds, relative to each other",
        "rcs": "a sampled champion against the most hopeful challenger",
        "rmed1": "by likelihood; optimal up to a constant",
        "rmed2": "by likelihood; optimal in the long run",
        "rmed2fh": "the same for a known number of rounds",
        "self-sparring": "one Thompson sampler, drawn from twice",
        "sparring": "two UCB bandits against each other",
        "doubler": "a UCB bandit against its own past",
        "multisbm": "a UCB bandit for every left arm",
        "savage": "all pairs of possible winners, evenly",
        "btm": "Beat the Mean: drops who loses to the average",
        "if": "Interleaved Filter: one candidate against all",
        "btw": "Beat the Winner: matches that grow longer",
        "wsw": "Winner Stays, for weak regret",
        "wss": "Winner Stays, for strong regret",
        "ccb": "Copeland winners, by confidence bounds",
        "scb": "Copeland winners among many arms",
    },
    "To find the best arm or a ranking, for preferences that stand still": {
        "active-ranking": "all ranks, or the top k, by Borda scores, with confidence",
        "knockout": "a tournament for the best arm up to eps, with confidence",
        "parwis": "the winner from a few times K votes, by a spectral ranking",
    },
    "For preferences that an adversary picks": {
        "vdb": "two Tsallis-INF learners, told nothing",
        "dex3p": "two EXP3.P learners",
        "rex3": "one exponential-weights distribution, drawn from twice",
        "dexp3": "the same by Borda scores",
    },
    "Around another policy, such as sw-dts": {
        "sw-*": "forgets all but the last answers",
        "discounted-*": "lets older answers count less and less",
        "glr-*": "starts anew when some pair has changed",
        "mdb-*": "the same, visiting all pairs now and then",
        "detect-*": "explores, then watches the suspected winner",
        "periodic-*": "starts anew every so many rounds",
        "oracle-*": "starts anew when the winner changes, as told by an oracle",
        "doubling-*": "epochs of doubling length, for policies that need a horizon",
        "anew-*": "starts anew whenever an option comes or goes",
    },
    "To compare with": {
        "uniform": "picks both arms at random, and learns nothing",
    },
}

WORLDS: Groups = {
    "New preferences now and then": {
        "geometric-btl": "a ladder of arms, shuffled in each phase; start here",
        "total-order": "the better of any two arms wins with probability p",
        "random-condorcet": "random entries and one winner",
        "utilities": "random utilities, turned into odds by a link",
        "lone-winner": "one arm beats all others, which are even: hard",
        "ladder": "the best leads the second by p, the others are close",
        "two-arm": "two arms that swap halfway: the paper's Example 2.1",
        "saha-gupta-switching": "a random matrix, changed at switches",
    },
    "After patterns of real life": {
        "restless": "a new winner every so often, however long it lasts",
        "recurring": "a few regimes that come back",
        "bursts": "many changes in a row, then quiet for long",
        "overtake": "one arm climbs to the top of a ladder at a time",
        "league": "teams whose strengths carry over to the next season",
        "crossing": "two leaders that slowly pass each other",
        "surges": "fashions: an arm jumps up and fades",
        "tastes": "options with features, and a taste that turns",
    },
    "New preferences all the time": {
        "seasonal": "utilities that swing like the seasons",
        "random-walk": "utilities that wander",
        "interpolated": "straight lines from one ladder to the next",
        "alternating": "only losers change: the paper's Remark 2.1",
        "fleeting": "changes in every round that nobody can learn",
        "saha-gupta-static": "a random matrix with fresh noise in each round",
        "saha-gupta-continuous": "a random matrix that drifts",
    },
    "Options that come and go": {
        "arrivals": "newcomers take the place of the worst",
        "sleeping": "arms fall asleep and wake up",
        "retire-best": "the best arm leaves, again and again",
    },
    "Rounds in which nobody beats everybody": {
        "cycle": "all arms in one circle",
        "rps-top": "rock, paper, scissors at the top",
        "skew-top": "the same, with an uneven circle",
        "clash": "two arms, one best by Copeland, one by Borda scores",
        "mixed": "a winner in every other phase",
        "uniform-random": "random entries, with or without a winner",
    },
    "Your own, and well-known ones": {
        "file": "from an NPZ file, or a CSV matrix of your own",
        "log": "fitted to a log of real comparisons",
        "preflib": "shares of rankings: PrefLib files, or a CSV table",
        "named": "matrices from the literature, standing still",
    },
}
