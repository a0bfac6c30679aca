-- One line of JSON at the end. Defines neither request() nor response(), which would cost wrk a call each request.
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    '\n{"seconds": %.6f, "requests": %d, "bytes": %d, "p50_us": %d, "p99_us": %d, "max_us": %d, ' ..
    '"connect_errors": %d, "read_errors": %d, "write_errors": %d, "status_errors": %d, "timeouts": %d}\n',
    summary.duration / 1e6, summary.requests, summary.bytes,
    latency:percentile(50), latency:percentile(99), latency.max,
    e.connect, e.read, e.write, e.status, e.timeout))
end
