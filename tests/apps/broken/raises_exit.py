"""Ends the process at import, as a script would."""

import sys

sys.exit(0)
