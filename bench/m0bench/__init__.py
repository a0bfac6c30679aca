"""Measures m0serve beside its peers: what bench/run is made of.

servers      how each server is started, asked whether it is ready, and ended
processes    CPU and memory of a server's process tree
clients      wrk and the latency probe
rounds       paired runs: A B A B, medians, ratios pair by pair
scenarios    what is measured: throughput, isolation, tuning, memory
targets      what issue 3 wants of the numbers
report       JSON and Markdown
"""
