"""The pytest plugin: what `pytest_plugin.py` puts together."""
