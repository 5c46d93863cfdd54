"""Who may do what, and who is who: tokens, names of duels, voters without names.

Nothing here is stored as it is given out. Of a token the store has a hash; of a voter it has a
keyed hash beside a random name, which is all that the log knows: without that row nobody can tell
whose votes they were. A duel's name carries a signature, so nobody can vote on a duel that was not
given to them.
"""

import base64
import hashlib
import hmac
import secrets
from functools import lru_cache
from typing import NamedTuple

from driftduel.arena.problems import ArenaError

__all__ = ["SCOPES", "DuelName", "hash_token", "make_token", "new_pseudonym", "voter_key"]

SCOPES = ("vote", "read", "own")
"""What a token allows: to be asked and to vote, to read board and log, everything."""
_MAC = 12
_MOST = 1 << 62
_RECENT, _LONGEST = 20_000, 64


def make_token(scope: str) -> str:
    """Make a token; whoever has it may do what its scope says."""
    return f"dd-{scope}-{secrets.token_urlsafe(24)}"


def hash_token(token: str) -> bytes:
    """Return what the store keeps of a token. It is random and long: no salt is needed."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def voter_key(secret: bytes, voter: str) -> bytes:
    """Return the key under which a voter is found; without the secret it says nothing."""
    return hmac.digest(secret, b"voter\0" + voter.encode("utf-8", "surrogatepass"), "sha256")


def new_pseudonym() -> str:
    """Return a voter's name in the log: random, so that it has no meaning of its own."""
    return secrets.token_hex(8)


class DuelName(NamedTuple):
    """The public id of a duel: its ref, the random word of its era, a signature."""

    ref: int
    word: int

    def encode(self, secret: bytes, arena: str) -> str:
        """Write and sign it."""
        said = f"{self.ref:x}-{self.word:x}"
        return f"{said}-{_signature(secret, arena, said)}"

    @staticmethod
    def decode(text: str, secret: bytes, arena: str) -> "DuelName":
        """Read what `written` wrote, and nothing else."""
        try:
            if len(text) > _LONGEST:  # none of ours; and it would be remembered
                raise ValueError
            return _read(text, secret, arena)
        except (ValueError, TypeError):  # of characters that cannot be compared, too
            raise ArenaError("no-such-duel", f"{text!r:.80} is no duel of {arena!r}.") from None


@lru_cache(maxsize=_RECENT)  # who votes is looked at more than once
def _read(text: str, secret: bytes, arena: str) -> DuelName:
    said, _, signature = text.rpartition("-")
    if not hmac.compare_digest(_signature(secret, arena, said), signature):
        raise ValueError
    ref, _, word = said.partition("-")
    name = DuelName(int(ref, 16), int(word, 16))
    if not 0 < name.ref < _MOST:
        raise ValueError
    return name


@lru_cache(maxsize=_RECENT)  # who answers says a name that was written a moment ago
def _signature(secret: bytes, arena: str, said: str) -> str:
    signed = f"duel\0{arena}\0{said}".encode("utf-8", "surrogatepass")
    # BLAKE2 takes a key of its own, and half of HMAC's time, which counts at every vote.
    mac = hashlib.blake2b(signed, digest_size=_MAC, key=secret).digest()
    return base64.b64encode(mac, b"._").decode()
