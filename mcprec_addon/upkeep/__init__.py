"""Cassette -> findings."""
