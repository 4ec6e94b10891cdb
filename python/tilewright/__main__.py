"""``python -m tilewright``: the command line (see `tilewright.cli`)."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
