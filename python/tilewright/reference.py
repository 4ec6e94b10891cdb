"""The reference page of all commands: ``python -m tilewright.reference`` (see `tilewright.tools.reference`)."""

from .tools.reference import main

if __name__ == "__main__":
    raise SystemExit(main())
