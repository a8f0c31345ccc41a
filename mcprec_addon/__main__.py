"""Entry of ``python -m mcprec_addon``: the same commands as ``mcprec``."""

from mcprec_addon.cli import main

if __name__ == "__main__":
    main()
