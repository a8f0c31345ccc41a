"""mcprec: record an agent's MCP and model traffic into one cassette, and replay either half."""

__version__ = "0.1.0"
