"""What realtime has to bear, each as a function of its size: minutes of it for `make soak`, seconds for the suite
(tests/test_realtime_load.py). Each returns an Outcome: what it measured, and what did not hold."""
