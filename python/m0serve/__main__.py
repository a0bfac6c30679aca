"""The command: ``m0serve MODULE[:ATTR]`` or ``python -m m0serve MODULE[:ATTR]``."""

import sys


def main() -> int:
    from m0serve import _core

    arguments = sys.argv[1:]
    # What the application sees as the program's name, however it was started.
    sys.argv[0] = "m0serve"
    return _core.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
