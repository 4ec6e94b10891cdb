"""``python -m tilewright``: the command line (see `tilewright.tools.cli`)."""

from .tools.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
