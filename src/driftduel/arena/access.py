"""Tokens, signed ids of duels, and pseudonyms of voters.

No secret is stored in clear text. The store keeps the hash of a token, and a keyed hash of a voter
beside a random pseudonym. The log contains the pseudonym only: without the row that links the two,
votes cannot be attributed to a voter. The id of a duel carries a signature, so that a client cannot
vote on a duel that the server did not give out.
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
"""Scopes of a token: ask and vote; read board and log; everything."""
_MAC = 12
_MOST = 1 << 62
_RECENT, _LONGEST = 20_000, 64


def make_token(scope: str) -> str:
    """Return a new random token; its holder has the permissions of `scope`."""
    return f"dd-{scope}-{secrets.token_urlsafe(24)}"


def hash_token(token: str) -> bytes:
    """Return the digest that the store keeps. Tokens are random and long, so no salt is needed."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def voter_key(secret: bytes, voter: str) -> bytes:
    """Return the key under which the store finds a voter: an HMAC value with the arena's secret."""
    return hmac.digest(secret, b"voter\0" + voter.encode("utf-8", "surrogatepass"), "sha256")


def new_pseudonym() -> str:
    """Return a random pseudonym for the log; it is not derived from the voter's name."""
    return secrets.token_hex(8)


class DuelName(NamedTuple):
    """The public id of a duel: its ref, the random word of its ownership epoch, a signature.

    The signature is not an attribute: the method `encode` adds it, and `decode` verifies it.
    """

    ref: int
    word: int

    def encode(self, secret: bytes, arena: str) -> str:
        """Return the signed id as a string."""
        plain = f"{self.ref:x}-{self.word:x}"
        return f"{plain}-{_signature(secret, arena, plain)}"

    @staticmethod
    def decode(text: str, secret: bytes, arena: str) -> "DuelName":
        """Parse and verify a string that `encode` returned.

        Raises
        ------
        ArenaError
            ``no-such-duel``, if the string is malformed or its signature is wrong.
        """
        try:
            if len(text) > _LONGEST:  # before `_read`, because its cache would keep the string
                raise ValueError
            return _read(text, secret, arena)
        except (ValueError, TypeError):  # TypeError: `compare_digest` accepts ASCII only
            raise ArenaError(
                "no-such-duel", f"{text!r:.80} is not a duel of arena {arena!r}; ask for a new one."
            ) from None


@lru_cache(maxsize=_RECENT)  # one request decodes the same id several times
def _read(text: str, secret: bytes, arena: str) -> DuelName:
    plain, _, signature = text.rpartition("-")
    if not hmac.compare_digest(_signature(secret, arena, plain), signature):
        raise ValueError
    ref, _, word = plain.partition("-")
    name = DuelName(int(ref, 16), int(word, 16))
    if not 0 < name.ref < _MOST:
        raise ValueError
    return name


@lru_cache(maxsize=_RECENT)  # an id that is voted on was usually signed a moment ago
def _signature(secret: bytes, arena: str, plain: str) -> str:
    signed = f"duel\0{arena}\0{plain}".encode("utf-8", "surrogatepass")
    # Keyed BLAKE2 takes half the time of HMAC-SHA256, which counts for every vote.
    mac = hashlib.blake2b(signed, digest_size=_MAC, key=secret).digest()
    return base64.b64encode(mac, b"._").decode()
