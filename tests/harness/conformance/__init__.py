"""What RFC 6455 and RFC 7692 demand of a server, as far as a client can see it: a table, and what runs it.

A row says what is sent and what must be seen (rows.py). Any server will do that mirrors each message at "/" and knows
the few paths and limits of tests/apps/mirror.py; the rows' own errors are looked for with one that is wrong on purpose
(harness/wrong_server.py).
"""
