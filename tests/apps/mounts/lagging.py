"""In every worker but the first to come: loaded only once the first has ended, whatever signal asks it to end."""

import os
import signal
import time

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lagging.settings")
_place = os.environ["M0TEST_FILE"]
_own = f"{_place}-{os.getpid()}"
with open(_own, "w") as _file:
    _file.write(str(os.getpid()))
try:
    os.link(_own, _place)
except FileExistsError:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with open(_place) as _file:
        _first = int(_file.read())
    _end = time.monotonic() + 15
    while time.monotonic() < _end:
        try:
            os.kill(_first, 0)
        except ProcessLookupError:
            break
        time.sleep(0.005)


def application(environ, start_response):
    start_response("204 No Content", [])
    return []
