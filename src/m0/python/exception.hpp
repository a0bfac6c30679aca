#pragma once
// What Python raised, as text for the log. A raised exception never stays behind on a thread.

#include <Python.h>

#include <string>
#include <string_view>

namespace m0::python {

/// Takes the raised exception of this thread away and gives its traceback, or one line where even that fails. Attached.
[[nodiscard]] std::string take_traceback() noexcept;

/// Takes the raised exception away and logs `what` with the traceback below it, indented: a line inside an exception's
/// message cannot pass for a line of the log. Attached.
void log_exception(std::string_view what) noexcept;

/// Imports what the above need, so that an exception in a strange place imports nothing. False with an exception set.
[[nodiscard]] bool prepare_tracebacks() noexcept;

}  // namespace m0::python
