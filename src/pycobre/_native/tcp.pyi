"""Meetings over sockets as they nearly always go, as the native module offers them."""

from collections.abc import Sequence

class Waiting:
    def __init__(self, crowded: bool) -> None: ...

class Rounds:
    def __init__(self, number_at: int, waiting: Waiting) -> None: ...
    def add(
        self,
        to: int,
        frame: bytearray,
        source: int,
        room: bytearray,
        hoped: bytearray,
        expected: int,
        copies: Sequence[tuple[memoryview, memoryview]],
        heads: Sequence[tuple[bytes, int]],
    ) -> None: ...
    def meet(self, first: int, number: int, patience_ns: int) -> tuple[int, int, int] | None: ...
