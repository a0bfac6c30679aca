"""The server, a C++ extension module for the stable ABI."""

def main(arguments: list[str]) -> int:
    """Runs the command with these arguments and returns its exit code. The main thread only."""
