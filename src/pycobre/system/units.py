"""Conversions between the units of a power system, each in one place."""

from __future__ import annotations

SECONDS_PER_HOUR = 3600.0
M3_PER_HM3 = 1.0e6


def hm3_per_m3s(hours: float) -> float:
    """Water volume in hm³ that a flow of 1 m³/s carries in *hours*."""
    return SECONDS_PER_HOUR * hours / M3_PER_HM3
