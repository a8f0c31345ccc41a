"""Exchanges as lines of a cassette, and lines as exchanges."""
