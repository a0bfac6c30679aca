#pragma once
// Why a message is not accepted.

namespace m0::http {

/// An error as a value: the status that answers it and a literal for the log, which never repeats what was sent.
struct Refusal {
  int status;
  const char* why;
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

}  // namespace m0::http
