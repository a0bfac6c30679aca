"""The commands: ``m0serve MODULE[:ATTR]`` and ``m0serve publish``; ``python -m m0serve`` is the same."""

import sys


def main() -> int:
    arguments = sys.argv[1:]
    if arguments[:1] == ["publish"]:  # a module of that name is written publish:app
        from m0serve import _publish

        return _publish.main(arguments[1:])
    from m0serve import _core

    # What the application sees as the program's name, however it was started.
    sys.argv[0] = "m0serve"
    return _core.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
