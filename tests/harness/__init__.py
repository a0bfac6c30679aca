"""What the black-box tests share: a real server process, a raw HTTP client, gates that hold views."""
