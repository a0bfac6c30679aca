"""The servers whose fan-out is compared: what each needs, how it is started alone, and how it is asked."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from . import processes
from .servers import APPS, LOGS, M0SERVE, CannotServe, end, free_port

_READY_WITHIN = 20.0

NGINX = "/usr/sbin/nginx"
NCHAN = "/usr/lib/nginx/modules/ngx_nchan_module.so"

# One worker, and no more messages than nchan is to keep for who comes back; the descriptors are for the connections.
_NGINX_CONFIGURATION = """
load_module {module};
daemon off;
worker_processes 1;
worker_rlimit_nofile 17000;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 16000; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  nchan_message_buffer_length 1000;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location = / {{ return 200; }}
    location = /subscribe {{ nchan_subscriber eventsource; nchan_channel_id a; }}
    location = /publish {{ nchan_publisher http; nchan_channel_id a; }}
  }}
}}
"""

# Its route "test" is a backend inside of Pushpin that holds each stream on the channel "test". As shipped it stops at 2,500
# deliveries a second (message_rate), and drops what waits beyond 25,000 (message_hwm).
_PUSHPIN_CONFIGURATION = """
[global]
include={{libdir}}/internal.conf
rundir={folder}
ipc_prefix=m0-
port_offset=0
[runner]
services=condure,pushpin-proxy,pushpin-handler
http_port=127.0.0.1:{port}
logdir={folder}
log_level=1
client_buffer_size=8192
client_maxconn=16000
[proxy]
routesfile=routes
updates_check=off
[handler]
push_in_spec=ipc://{folder}/push-in
push_in_sub_specs=ipc://{folder}/push-in-sub
push_in_http_addr=127.0.0.1
push_in_http_port={control}
stats_spec=ipc://{folder}/stats
command_spec=ipc://{folder}/command
message_rate=100000000
message_hwm=100000000
"""


@dataclass(frozen=True)
class Started:
    """How a server that runs is asked. `body` is what is posted to publish, {} the message."""

    process: "subprocess.Popen[bytes]"
    subscribe: str
    publish: str
    body: str
    websocket: bool = False

    @property
    def pids(self) -> list[int]:
        return processes.tree(self.process.pid)


Start = Callable[[Path], "tuple[list[str], tuple[str, ...], Callable[[subprocess.Popen[bytes]], Started]]"]


@dataclass(frozen=True)
class FanServer:
    """One way to start one server. `start` writes what it needs into a folder, and says the command, what is to
    answer, and how it is asked."""

    name: str
    needs: tuple[str, ...]
    start: Start

    @property
    def missing(self) -> list[str]:
        return [need for need in self.needs if not os.path.exists(shutil.which(need) or need)]

    @contextlib.contextmanager
    def running(self) -> Iterator[Started]:
        LOGS.mkdir(parents=True, exist_ok=True)
        log_path = LOGS / f"fan-out-{self.name}.log".replace(" ", "-")
        # A short path: names of Unix sockets, which Pushpin makes there, have 107 bytes.
        with tempfile.TemporaryDirectory(prefix="m0fan-") as folder:
            command, urls, started = self.start(Path(folder))
            inherited = {name: value for name, value in os.environ.items() if not name.startswith("M0_")}
            with log_path.open("wb") as log:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, env=inherited
                )
            try:
                _wait_until_it_answers(self.name, process, urls, log_path)
                yield started(process)
            finally:
                end(process)


def _wait_until_it_answers(name: str, process: "subprocess.Popen[bytes]", urls: tuple[str, ...], log: Path) -> None:
    """Not only listens: a port may be there before the processes whose CPU time is to be counted."""
    deadline = time.monotonic() + _READY_WITHIN
    while time.monotonic() < deadline and process.poll() is None:
        if all(_answers(url) for url in urls):
            return
        time.sleep(0.05)
    said = log.read_text(errors="replace").strip().splitlines()[-5:]
    raise CannotServe(f"{name} does not answer\n  " + "\n  ".join(said))


def _answers(url: str) -> bool:
    """A held stream too: its head is enough."""
    try:
        urllib.request.urlopen(url, timeout=5).close()
    except urllib.error.HTTPError as answer:
        return answer.code < 500
    except OSError:
        return False
    return True


def _ours(path: str, websocket: bool = False) -> Start:
    def start(folder: Path) -> tuple[list[str], tuple[str, ...], Callable[["subprocess.Popen[bytes]"], Started]]:
        port = free_port()
        command = [str(M0SERVE), "realtime_app", "--app-dir", str(APPS), "--bind", f"127.0.0.1:{port}"]
        url = f"http://127.0.0.1:{port}"
        return command, (url + "/",), lambda process: Started(process, url + path, url + "/publish", "{}", websocket)

    return start


def _nchan(folder: Path) -> tuple[list[str], tuple[str, ...], Callable[["subprocess.Popen[bytes]"], Started]]:
    port = free_port()
    configuration = folder / "nginx.conf"
    configuration.write_text(_NGINX_CONFIGURATION.format(folder=folder, module=NCHAN, port=port))
    # Its worker is another user's, who needs the way to the files that it makes.
    folder.chmod(0o755)
    command = [NGINX, "-p", str(folder), "-c", str(configuration)]
    url = f"http://127.0.0.1:{port}"
    return command, (url + "/",), lambda process: Started(process, f"{url}/subscribe", f"{url}/publish", "{}")


def _pushpin(folder: Path) -> tuple[list[str], tuple[str, ...], Callable[["subprocess.Popen[bytes]"], Started]]:
    port, control = free_port(), free_port()
    configuration = folder / "pushpin.conf"
    configuration.write_text(_PUSHPIN_CONFIGURATION.format(folder=folder, port=port, control=control))
    (folder / "routes").write_text("* test\n")
    event = {"items": [{"channel": "test", "formats": {"http-stream": {"content": "data: {}\n\n"}}}]}

    # What it holds goes through all of its processes.
    subscribe, publish = f"http://127.0.0.1:{port}/stream", f"http://127.0.0.1:{control}/publish/"
    command = ["pushpin", "--config", str(configuration)]
    return command, (subscribe, publish), lambda process: Started(process, subscribe, publish, json.dumps(event))


STREAMS = FanServer("m0serve", (str(M0SERVE),), _ours("/stream"))
RAW = FanServer("m0serve, WebSockets", (str(M0SERVE),), _ours("/raw", websocket=True))
JSON = FanServer("m0serve, WebSockets with JSON frames", (str(M0SERVE),), _ours("/json", websocket=True))
NCHAN_SERVER = FanServer("nchan", (NGINX, NCHAN), _nchan)
PUSHPIN_SERVER = FanServer("pushpin", ("pushpin", "condure"), _pushpin)

OURS = (STREAMS, RAW, JSON)
PEERS = (NCHAN_SERVER, PUSHPIN_SERVER)
