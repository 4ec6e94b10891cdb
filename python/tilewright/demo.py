"""The demonstration: ``python -m tilewright.demo`` (see `tilewright.tools.demo`)."""

from .tools.demo import main

if __name__ == "__main__":
    raise SystemExit(main())
