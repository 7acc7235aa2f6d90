"""Filled by the room's own commits."""
