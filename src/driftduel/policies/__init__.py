"""Dueling-bandit policies: learners that choose a duel and receive the winner.

A policy has access to arms and answers only, not to the world. Importing this package imports the
compiler.
"""

from driftduel._internal.compiler import hot, kernel
from driftduel._internal.kernel_random import beta, normal, uniform
from driftduel.policies import fields as fields
from driftduel.policies._request_filters import (
    DEVIATION as DEVIATION,
    NO_MEMORY as NO_MEMORY,
    forget as forget,
    predict as predict,
    update as update,
    utility as utility,
)
from driftduel.policies.active_ranking import ActiveRanking
from driftduel.policies.adaptive_logistic import AdaptiveLogistic
from driftduel.policies.anaconda import Anaconda
from driftduel.policies.base import (
    GROW,
    RESTARTED,
    Duel,
    Info,
    KernelPolicy,
    Kernels,
    Policy,
    generator_state as generator_state,
    no_such_arms as no_such_arms,
    restore_generator as restore_generator,
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
from driftduel.policies.events import KINDS, Event, EventLog, Recorder
from driftduel.policies.exp3s import Exp3S
from driftduel.policies.fields import rules_of as rules_of
from driftduel.policies.glr import GlrRestart
from driftduel.policies.info import Challenger as Challenger, Contest as Contest, Stage as Stage
from driftduel.policies.interleaved_filter import InterleavedFilter
from driftduel.policies.king import King
from driftduel.policies.knockout import Knockout
from driftduel.policies.ledger import (
    ORDERS as ORDERS,
    TIES as TIES,
    UNANSWERED as UNANSWERED,
    Ledger,
)
from driftduel.policies.linear_rivals import CoLSTIM, LinTS, LinUCB, MaxInP
from driftduel.policies.maxmin_ucb import MaxMinUcb
from driftduel.policies.mdb import Monitored
from driftduel.policies.metaswift import Metaswift
from driftduel.policies.modes import MODES as MODES, wrap_for_panel as wrap_for_panel
from driftduel.policies.multi_dueling import MultiDueling
from driftduel.policies.multisbm import MultiSBM
from driftduel.policies.parwis import Parwis
from driftduel.policies.rcs import Rcs
from driftduel.policies.registry import (
    POLICIES,
    is_registered as is_registered,
    make_policy,
    spec_name as spec_name,
)
from driftduel.policies.replay import fold
from driftduel.policies.requests import (
    RequestPolicy as RequestPolicy,
    check_coefficients as check_coefficients,
)
from driftduel.policies.restart import Oracle, Periodic
from driftduel.policies.restart_on_change import RestartOnChange
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
from driftduel.policies.slate_filling import FilledSlate
from driftduel.policies.slates import (
    MOST_SHOWN as MOST_SHOWN,
    UNDECIDED as UNDECIDED,
    code_of as code_of,
    is_code as is_code,
    places_of as places_of,
    result_of_pair as result_of_pair,
)
from driftduel.policies.sparring_ucb import Sparring
from driftduel.policies.ttts import Ttts
from driftduel.policies.uniform_random import UniformRandom
from driftduel.policies.vdb import VersatileDuelingBandits
from driftduel.policies.window import SlidingWindow
from driftduel.policies.winner_stays import WinnerStaysStrong, WinnerStaysWeak
from driftduel.policies.wrapper import (
    Wrapper,
    in_panel_by as in_panel_by,
    no_notes_inside as no_notes_inside,
    pass_on as pass_on,
    prior_knowledge_of as prior_knowledge_of,
    register_wrapper,
)

__all__ = [
    "GROW",
    "KINDS",
    "POLICIES",
    "RESTARTED",
    "ActiveRanking",
    "AdaptiveLogistic",
    "Anaconda",
    "BeatTheMean",
    "BeatTheWinner",
    "BeatTheWinnerReset",
    "BordaDex3S",
    "BordaKing",
    "Ccb",
    "CoLSTIM",
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
    "EventLog",
    "Exp3S",
    "FilledSlate",
    "GlrRestart",
    "Info",
    "InterleavedFilter",
    "KernelPolicy",
    "Kernels",
    "King",
    "Knockout",
    "Ledger",
    "LinTS",
    "LinUCB",
    "MaxInP",
    "MaxMinUcb",
    "Metaswift",
    "Monitored",
    "MultiDueling",
    "MultiSBM",
    "Oracle",
    "Parwis",
    "Periodic",
    "Policy",
    "Rcs",
    "Recorder",
    "RestartOnChange",
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
    "Wrapper",
    "beta",
    "fold",
    "hot",
    "kernel",
    "load_policy",
    "make_policy",
    "normal",
    "policy_from_bytes",
    "policy_to_bytes",
    "register_wrapper",
    "save_policy",
    "uniform",
]

# Registered compositions. Policies with win counts can drop some of them and learn from duels that
# they did not choose; policies with a kernel `reset` can be restarted; those that need T can run in
# epochs of known length. MDB and DETECT also wrap the policies of their authors' program.
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
    (FilledSlate, ["dts", "rucb"]),
    (Doubling, _NEED_HORIZON),
):
    register_wrapper(_wrapper, _bases)
# Wrapped policies in the authors' program: RUCB or Winner Stays (strong) for MDB, Winner Stays or
# Beat the Winner for DETECT. With the constants of setting 2, the default here, the program uses
# Winner Stays and notes that Beat the Winner performs badly; with setting 1 it is the reverse.
POLICIES.alias("mdb", "mdb-rucb")
POLICIES.alias("detect", "detect-wsw")
