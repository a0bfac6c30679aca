"""The server, a C++ extension module for the stable ABI."""

def main(arguments: list[str]) -> int:
    """Runs the command with these arguments and returns its exit code. The main thread only."""

def publish(channel: bytes, data: bytes, event: bytes, binary: bool) -> str:
    """The event's id, or "!" and why there is none, or "" where this process serves nobody. Any thread."""

def ask(verb: bytes, *arguments: bytes) -> list[bytes] | str:
    """What the control socket would answer, or one sentence that says why not, or "" where this process serves nobody."""

def connection() -> str | None:
    """What the connection of this thread's request is called; None outside of one."""

def _append_steps() -> list[str]:
    """For tests: after which steps of a publish a process may die."""

def _signal_at(step: bytes, signal: int) -> None:
    """For tests: this process sends itself the signal after that step of each publish."""

def cursor() -> str | None:
    """The newest event when the head of this thread's request was complete; else the newest; None without a server."""
