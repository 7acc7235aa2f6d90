"""The messages by which two sides prove that they know the job's secret. No input or output.

::

    who connects                                 who listens
    HELLO      who I am, whom I want, a nonce ->
                                              <- CHALLENGE  a nonce; code of the server's key over all so far
    PROOF      code of the client's key       ->
                                              <- RESULT     in, or why not; code of the result's key

Every size is fixed. The codes are HMAC-SHA256 under keys that HKDF-SHA256 makes of the secret and the job,
one a role, so that no message can be sent back or used again: each covers all bytes before it, both nonces
among them. Until PROOF holds, whatever is wrong ends in silence; a stranger learns nothing but the version.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from pycobre.comm.tcp.link import FrameKeys

PROTOCOL_VERSION = 1
FRAMES_VERSION = 1
"""Of what travels on a link afterwards; ranks that differ in it refuse each other."""
ABI = FRAMES_VERSION << 8 | (1 if sys.byteorder == "little" else 2)

_MAGIC = b"pCbr"
_HELLO, _CHALLENGE, _PROOF, _RESULT, _VERSION = range(1, 6)
_DATA, _SEALED, _ENCRYPTED = 1, 2, 4
_HEADER = struct.Struct("!4sHBB")  # magic, version, message, flags: the same in every version of the protocol
_HELLO_BODY = struct.Struct("!III16sI32s")  # rank, target, size, job, ABI, nonce
_CHALLENGE_BODY = struct.Struct("!32s32s")  # nonce, code
_RESULT_BODY = struct.Struct("!II32s")  # outcome, what the server has instead, code
_VERSION_FRAME_BYTES = 16
_CODE_BYTES = 32


class Outcome(IntEnum):
    """What a server says to a client that has proved itself."""

    IN = 0
    DUPLICATE = 1
    OTHER_SIZE = 2
    NO_SUCH_RANK = 3
    OTHER_ABI = 4
    OTHER_SETTINGS = 5
    WRONG_DOOR = 6


class HandshakeFailed(Exception):
    """The two sides do not come together; :attr:`answer` is what to send before closing."""

    def __init__(self, message: str, answer: bytes = b"") -> None:
        self.answer = answer
        super().__init__(message)


class Stranger(HandshakeFailed):
    """The other side speaks something else, or does not know the secret."""


class OtherVersion(HandshakeFailed):
    """The other side speaks another version of this protocol."""

    def __init__(self, version: int, answer: bytes = b"") -> None:
        self.version = version
        super().__init__(
            f"it speaks protocol {version}, this rank protocol {PROTOCOL_VERSION}: all ranks need the same"
            " version of pycobre",
            answer,
        )


class Refused(HandshakeFailed):
    """The other side is one of ours, but does not fit; :attr:`outcome` says why."""

    def __init__(self, outcome: Outcome, hello: Hello, theirs: int, answer: bytes = b"") -> None:
        self.outcome = outcome
        who, whom = f"rank {hello.rank}", f"rank {hello.target}"
        reasons = {
            Outcome.DUPLICATE: f"there is a {who} already",
            Outcome.OTHER_SIZE: f"{who} was told of {hello.size} ranks, {whom} of {theirs}",
            Outcome.NO_SUCH_RANK: f"{who} is not one of 0 to {theirs - 1}",
            Outcome.OTHER_ABI: f"{who} has other bytes or frames ({hello.abi:#x}, {theirs:#x})",
            Outcome.OTHER_SETTINGS: f"frames are sealed, or TLS is used, at one of {who} and {whom} only",
            Outcome.WRONG_DOOR: f"{who} wanted {whom} at a time or place that is not right",
        }
        super().__init__(reasons.get(outcome, f"{whom} refuses {who}"), answer)


@dataclass(frozen=True)
class Hello:
    """Who connects, to whom and for what.

    Attributes
    ----------
    rank, target
        Who connects, and whom it wants.
    size
        Number of ranks, as it was told.
    data
        Whether the link is for data, else for control.
    sealed, encrypted
        Whether frames are sealed, and whether TLS is around this.
    abi
        Byte order and version of frames.
    """

    rank: int
    target: int
    size: int
    data: bool
    sealed: bool = False
    encrypted: bool = False
    abi: int = ABI


Admit = Callable[[Hello], tuple[Outcome, int]]
"""What becomes of a client that has proved itself, and what the server has instead where they differ."""


class JobKeys:
    """What the secret and the job give: a key for each role in the handshake."""

    def __init__(self, secret: bytes, job_id: bytes) -> None:
        self.job_id = job_id
        self._root = hmac.digest(job_id, secret, "sha256")
        self.server, self.client, self.result = (
            _expand(self._root, label) for label in (b"server", b"client", b"result")
        )

    def of_link(self, transcript: bytes) -> bytes:
        """The key of the link whose handshake began by *transcript*."""
        return _expand(self._root, b"link" + hashlib.sha256(transcript).digest())


class LinkSecret:
    """What the two ends of one link have in common after the handshake."""

    def __init__(self, root: bytes, *, is_server: bool) -> None:
        self._root = root
        self._is_server = is_server

    def keys(self, purpose: bytes) -> FrameKeys:
        """One key for each direction."""
        down, up = (_expand(self._root, purpose + side) for side in (b" of the server", b" of the client"))
        return FrameKeys(down, up) if self._is_server else FrameKeys(up, down)


class ClientHandshake:
    """The side that connects: send :attr:`opening`, then give :meth:`take` what it wants."""

    def __init__(self, keys: JobKeys, hello: Hello) -> None:
        self._keys = keys
        self._hello = hello
        flags = _DATA * hello.data | _SEALED * hello.sealed | _ENCRYPTED * hello.encrypted
        self.opening = _HEADER.pack(_MAGIC, PROTOCOL_VERSION, _HELLO, flags) + _HELLO_BODY.pack(
            hello.rank, hello.target, hello.size, keys.job_id, hello.abi, os.urandom(32)
        )
        self.wanted = _HEADER.size
        self.proved = False  # the server has shown that it knows the secret
        self.link: LinkSecret | None = None
        self._header = b""
        self._transcript = self.opening

    def take(self, data: bytes) -> bytes:
        """The answer to the next :attr:`wanted` bytes; it is done when none are wanted.

        Raises
        ------
        HandshakeFailed
            This is as far as it goes.
        """
        if not self._header:
            _check_header(data, _RESULT if self.proved else _CHALLENGE, 0)
            self._header = data
            self.wanted = _RESULT_BODY.size if self.proved else _CHALLENGE_BODY.size
            return b""
        message, self._header = self._header + data, b""
        if not self.proved:
            _check_code(self._keys.server, self._transcript, message)
            self._transcript += message
            self.proved = True
            self.wanted = _HEADER.size
            return _coded(
                self._keys.client, self._transcript, _HEADER.pack(_MAGIC, PROTOCOL_VERSION, _PROOF, 0)
            )
        _check_code(self._keys.result, self._transcript, message)
        outcome, theirs, _ = _RESULT_BODY.unpack(data)
        if outcome != Outcome.IN:
            try:
                raise Refused(Outcome(outcome), self._hello, theirs)
            except ValueError:
                raise Stranger(f"it gives an answer {outcome} that nobody knows") from None
        self.link = LinkSecret(self._keys.of_link(self._transcript), is_server=False)
        self.wanted = 0
        return b""


class ServerHandshake:
    """The side that listens: give :meth:`take` what it wants, and send what it answers."""

    def __init__(self, keys: JobKeys, admit: Admit) -> None:
        self._keys = keys
        self._admit = admit
        self.wanted = _HEADER.size
        self.hello: Hello | None = None
        self.link: LinkSecret | None = None
        self._header = b""
        self._transcript = b""

    def take(self, data: bytes) -> bytes:
        """The answer to the next :attr:`wanted` bytes; it is done when none are wanted.

        Raises
        ------
        HandshakeFailed
            This is as far as it goes; an ``answer`` in it goes out first.
        """
        if not self._header:
            _check_header(data, _HELLO, None)
            self._header = data
            self.wanted = _HELLO_BODY.size
            return b""
        if self.hello is None:
            return self._challenge(data)
        return self._verdict(self.hello, data)

    def _challenge(self, data: bytes) -> bytes:
        flags = self._header[-1]
        # Another job is not refused here: its codes will not hold, and the client learns why it is out.
        rank, target, size, _, abi, _ = _HELLO_BODY.unpack(data)
        self.hello = Hello(
            rank, target, size, bool(flags & _DATA), bool(flags & _SEALED), bool(flags & _ENCRYPTED), abi
        )
        hello = self._header + data
        start = _HEADER.pack(_MAGIC, PROTOCOL_VERSION, _CHALLENGE, 0) + os.urandom(32)
        challenge = _coded(self._keys.server, hello, start)
        self._transcript = hello + challenge
        self.wanted = _HEADER.size + _CODE_BYTES
        return challenge

    def _verdict(self, hello: Hello, data: bytes) -> bytes:
        _check_header(data[: _HEADER.size], _PROOF, 0)
        _check_code(self._keys.client, self._transcript, data)
        outcome, ours = self._admit(hello)
        start = _HEADER.pack(_MAGIC, PROTOCOL_VERSION, _RESULT, 0) + struct.pack("!II", outcome, ours)
        result = _coded(self._keys.result, self._transcript, start)
        if outcome is not Outcome.IN:
            raise Refused(outcome, hello, ours, result)
        self.link = LinkSecret(self._keys.of_link(self._transcript), is_server=True)
        self.wanted = 0
        return result


def _check_header(header: bytes, message: int, flags: int | None) -> None:
    magic, version, kind, given = _HEADER.unpack(header)
    if magic != _MAGIC:
        raise Stranger("it does not speak the protocol of pycobre")
    if version != PROTOCOL_VERSION:
        # In clear, since keys may be made otherwise there; to a version frame nobody answers.
        own = _HEADER.pack(_MAGIC, PROTOCOL_VERSION, _VERSION, 0).ljust(_VERSION_FRAME_BYTES, b"\0")
        raise OtherVersion(version, b"" if kind == _VERSION else own)
    if kind != message or (given != flags if flags is not None else given > _DATA | _SEALED | _ENCRYPTED):
        raise Stranger("it sends what does not belong here")


def _expand(key: bytes, label: bytes) -> bytes:
    return hmac.digest(key, b"pycobre tcp " + label + b"\x01", "sha256")


def _coded(key: bytes, transcript: bytes, start: bytes) -> bytes:
    """*start* and the code over all bytes up to its end."""
    return start + hmac.digest(key, transcript + start, "sha256")


def _check_code(key: bytes, transcript: bytes, message: bytes) -> None:
    due = hmac.digest(key, transcript + message[:-_CODE_BYTES], "sha256")
    if not hmac.compare_digest(due, message[-_CODE_BYTES:]):
        raise Stranger("it does not know our secret, or is of another job")
