"""Bytes of a protocol <-> calls and answers."""
