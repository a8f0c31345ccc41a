"""Calls and answers -> exchanges."""
