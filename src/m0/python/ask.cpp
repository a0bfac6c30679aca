#include "m0/python/ask.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "m0/base/clock.hpp"
#include "m0/base/fd_registry.hpp"
#include "m0/process/control_verbs.hpp"
#include "m0/pubsub/publisher.hpp"
#include "m0/python/gil.hpp"
#include "m0/python/publish.hpp"
#include "m0/python/py_ref.hpp"
#include "m0/python/text.hpp"

namespace m0::python {
namespace {

constexpr base::Duration kPatience = std::chrono::seconds(1);
constexpr base::Duration kFirstNap = std::chrono::microseconds(20);
constexpr base::Duration kLongestNap = std::chrono::milliseconds(1);

process::ControlAnswer wait_for(process::ControlTask task) {
  const base::Instant until = base::now() + kPatience;
  for (base::Duration nap = kFirstNap;; nap = std::min(nap * 2, kLongestNap)) {
    const bool last = base::now() >= until;
    if (auto answer = task(last)) return std::move(*answer);
    std::this_thread::sleep_for(nap);
  }
}

PyObject* to_list(const process::ControlFields& fields) noexcept {
  PyRef list(PyList_New(0));
  for (const std::string& field : fields) {
    const PyRef bytes(PyBytes_FromStringAndSize(field.data(), static_cast<Py_ssize_t>(field.size())));
    if (!list || !bytes || PyList_Append(list.get(), bytes.get()) != 0) return nullptr;
  }
  return list.release();
}

}  // namespace

PyObject* ask_function(PyObject*, PyObject* arguments) noexcept {
  try {
    process::ControlFields request;
    for (Py_ssize_t at = 0; at < PyTuple_Size(arguments); ++at) {
      PyObject* const item = PyTuple_GetItem(arguments, at);
      if (item == nullptr || !PyBytes_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "ask() takes bytes");
        return nullptr;
      }
      request.emplace_back(bytes_view(item));
    }
    pubsub::EventLog* const log = pubsub::current_log();
    if (log == nullptr || base::fd_registry::in_forked_child() || request.empty()) return nobody_serves();
    std::optional<process::ControlAnswer> answer;
    {
      const GilReleased released;
      answer = wait_for(process::begin_request(process::control_verbs(), {*log}, std::move(request)));
    }
    if (answer->ok) return to_list(answer->fields);
    return utf8_text(answer->fields.front()).release();
  } catch (...) {
    return PyErr_NoMemory();
  }
}

}  // namespace m0::python
