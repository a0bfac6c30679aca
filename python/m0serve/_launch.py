"""Run by the launcher beside a build: finds the package where it lies, without PYTHONPATH.

A module that an application starts through multiprocessing imports this file again under another name, so nothing
happens then but the change of sys.path.
"""

import os.path
import sys

_package = os.path.dirname(os.path.abspath(__file__))
# The first entry is this file's folder, whose modules must not be importable without their package.
if sys.path and os.path.abspath(sys.path[0]) == _package:
    del sys.path[0]
sys.path.insert(0, os.path.dirname(_package))

if __name__ == "__main__":
    from m0serve.__main__ import main

    sys.exit(main())
