"""Policies: learners that ask for a duel and are told who won.

A policy sees arms and answers, never a world. This room imports the compiler.
"""

from driftduel._compile import hot, kernel
from driftduel._random import beta, normal, uniform
from driftduel.policies.active_ranking import ActiveRanking
from driftduel.policies.anaconda import Anaconda
from driftduel.policies.anew import Anew
from driftduel.policies.around import Around, register_around
from driftduel.policies.base import (
    GROW,
    RESTARTED,
    Duel,
    Info,
    KernelPolicy,
    Kernels,
    Policy,
)
from driftduel.policies.beat_the_mean import BeatTheMean
from driftduel.policies.beat_the_winner import BeatTheWinner, BeatTheWinnerReset
from driftduel.policies.borda_dex3s import BordaDex3S
from driftduel.policies.borda_king import BordaKing
from driftduel.policies.ccb import Ccb
from driftduel.policies.court import Court
from driftduel.policies.detect import Detect
from driftduel.policies.dex3p import Dex3P
from driftduel.policies.dex3s import Dex3S
from driftduel.policies.dexp3 import Dexp3
from driftduel.policies.discount import Discounted
from driftduel.policies.doubler import Doubler
from driftduel.policies.doubling import Doubling
from driftduel.policies.dts import Dts
from driftduel.policies.dts_plus import DtsPlus
from driftduel.policies.events import KINDS, Event, Log, Recorder
from driftduel.policies.exp3s import Exp3S
from driftduel.policies.folding import fold
from driftduel.policies.glr import GlrRestart
from driftduel.policies.interleaved_filter import InterleavedFilter
from driftduel.policies.king import King
from driftduel.policies.king_0 import King0
from driftduel.policies.knockout import Knockout
from driftduel.policies.ledger import Ledger
from driftduel.policies.mdb import Monitored
from driftduel.policies.metaswift import Metaswift
from driftduel.policies.multisbm import MultiSBM
from driftduel.policies.parwis import Parwis
from driftduel.policies.public_anaconda import PublicAnaconda
from driftduel.policies.rcs import Rcs
from driftduel.policies.registry import POLICIES, make_policy
from driftduel.policies.restart import Oracle, Periodic
from driftduel.policies.rex3 import Rex3
from driftduel.policies.rmed1 import Rmed1
from driftduel.policies.rmed2 import Rmed2
from driftduel.policies.rmed2fh import Rmed2Fh
from driftduel.policies.rucb import Rucb
from driftduel.policies.savage import Savage
from driftduel.policies.saving import (
    load_policy,
    policy_from_bytes,
    policy_to_bytes,
    save_policy,
)
from driftduel.policies.scb import Scb
from driftduel.policies.self_sparring import SelfSparring
from driftduel.policies.sparring_ucb import Sparring
from driftduel.policies.ttts import Ttts
from driftduel.policies.uniform_random import UniformRandom
from driftduel.policies.vdb import VersatileDuelingBandits
from driftduel.policies.window import SlidingWindow
from driftduel.policies.winner_stays import WinnerStaysStrong, WinnerStaysWeak

__all__ = [
    "GROW",
    "KINDS",
    "POLICIES",
    "RESTARTED",
    "ActiveRanking",
    "Anaconda",
    "Anew",
    "Around",
    "BeatTheMean",
    "BeatTheWinner",
    "BeatTheWinnerReset",
    "BordaDex3S",
    "BordaKing",
    "Ccb",
    "Court",
    "Detect",
    "Dex3P",
    "Dex3S",
    "Dexp3",
    "Discounted",
    "Doubler",
    "Doubling",
    "Dts",
    "DtsPlus",
    "Duel",
    "Event",
    "Exp3S",
    "GlrRestart",
    "Info",
    "InterleavedFilter",
    "KernelPolicy",
    "Kernels",
    "King",
    "King0",
    "Knockout",
    "Ledger",
    "Log",
    "Metaswift",
    "Monitored",
    "MultiSBM",
    "Oracle",
    "Parwis",
    "Periodic",
    "Policy",
    "PublicAnaconda",
    "Rcs",
    "Recorder",
    "Rex3",
    "Rmed1",
    "Rmed2",
    "Rmed2Fh",
    "Rucb",
    "Savage",
    "Scb",
    "SelfSparring",
    "SlidingWindow",
    "Sparring",
    "Ttts",
    "UniformRandom",
    "VersatileDuelingBandits",
    "WinnerStaysStrong",
    "WinnerStaysWeak",
    "beta",
    "fold",
    "hot",
    "kernel",
    "load_policy",
    "make_policy",
    "normal",
    "policy_from_bytes",
    "policy_to_bytes",
    "register_around",
    "save_policy",
    "uniform",
]

# Compositions by name. What keeps win counts can forget some of them, and take outcomes of duels it
# did not ask for; what can be reset can be restarted; what must know T can be told an epoch's. MDB
# and DETECT go around what their authors put inside, too.
_COUNTING = ["rucb", "rcs", "dts", "dts-plus", "rmed1", "rmed2", "ccb", "ttts"]
_STAYING = ["btw", "btwr", "wsw", "wss"]
_RESTARTABLE = [
    *_COUNTING,
    *("rmed2fh", "scb", "self-sparring", "sparring", "multisbm", "doubler", "vdb"),
    *_STAYING,
]
_NEED_HORIZON = ["btm", "if", "savage", "rmed2fh", "rex3", "dex3p", "dexp3", "anaconda"]
for _wrapper, _bases in (
    (SlidingWindow, _COUNTING),
    (Discounted, _COUNTING),
    (GlrRestart, _COUNTING),
    (Monitored, [*_COUNTING, *_STAYING]),
    (Detect, [*_COUNTING, *_STAYING]),
    (Oracle, _RESTARTABLE),
    (Periodic, _RESTARTABLE),
    (Doubling, _NEED_HORIZON),
):
    register_around(_wrapper, _bases)
# What the authors' own program puts inside: RUCB or Winner Stays (strong) for MDB, Winner Stays or
# Beat the Winner for DETECT. With the constants of setting 2, which are the default here, it keeps
# Winner Stays and notes that Beat the Winner does badly; with setting 1 it is the other way round.
POLICIES.alias("mdb", "mdb-rucb")
POLICIES.alias("detect", "detect-wsw")
