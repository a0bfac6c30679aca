"""Measures m0serve beside its peers: what bench/run, bench/probe and bench/realtime are made of.

servers      how each server is started, asked whether it is ready, and ended
processes    CPU and memory of a server's process tree
clients      wrk and the latency probe
rounds       paired runs: A B A B, medians, ratios pair by pair
session      where results go, what they were taken on, how a run ends
scenarios    what is measured: throughput, isolation, tuning, memory
targets      what issue 3 wants of the numbers
report       JSON and Markdown

probe_cells       the pool probe's rows, columns and geometries
probe_assertions  what issue 4 asserts of them
probe_report      its tables

realtime_servers  m0serve, nchan and Pushpin, each started alone
realtime          fan-out: the cases, the table, what issue 5 wants of it
"""
