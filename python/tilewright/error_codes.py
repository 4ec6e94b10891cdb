"""The codes of errors: ``python -m tilewright.error_codes`` (see `tilewright.tools.error_codes`)."""

from .tools.error_codes import main

if __name__ == "__main__":
    raise SystemExit(main())
