"""An agent that is many clients: ``many_clients.py '{"lane": [["name", "program", …], …]}'``.

The clients of a lane run one after the other, lanes at once. Prints one line of JSON: what each
client printed last, by its name; of one that failed or did not end, that.
"""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

_LONGEST_S = 40
_AT_ONCE = 6  # most of the time a client waits


def _printed(command: list[str]) -> object:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"still running after {_LONGEST_S} s"
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        return f"ended with {done.returncode}: {done.stderr[-500:]}"
    return json.loads(lines[-1])


def _lane(clients: list[list[str]]) -> dict[str, object]:
    return {name: _printed(command) for name, *command in clients}


def main(lanes: dict[str, list[list[str]]]) -> None:
    """Run every client and print what they saw."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        of_lanes = list(pool.map(_lane, lanes.values()))
    found = {name: seen for lane in of_lanes for name, seen in lane.items()}
    sys.stdout.write(json.dumps(found, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
