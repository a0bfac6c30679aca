// m0serve._core: what Python imports: the command, and what the realtime functions stand on.

#include <Python.h>

#include <unistd.h>

#include <exception>
#include <string>
#include <vector>

#include "m0/base/logger.hpp"
#include "m0/cli/parse.hpp"
#include "m0/process/exit_codes.hpp"
#include "m0/process/run.hpp"
#include "m0/python/ask.hpp"
#include "m0/python/publish.hpp"
#include "m0/python/python_application.hpp"
#include "m0/python/python_type.hpp"
#include "m0/python/text.hpp"

namespace m0::python {
namespace {

int serve(const cli::Invocation& invocation) {
  const cli::PythonSettings& settings = invocation.python;
  PythonConfig config;
  config.target = settings.application;
  config.factory = settings.factory;
  config.app_dir = settings.app_dir;
  for (const server::Mount& mount : invocation.config.server.mounts) {
    if (mount.target > 0) config.mounts.push_back({mount.prefix, settings.mounts.at(mount.target - 1)});
  }
  config.worker_start = settings.worker_start;
  config.switch_interval = settings.switch_interval;
  config.preload = invocation.config.preload && invocation.config.fork;
  // Where nothing forks there is no "before the fork".
  process::Config process_config = invocation.config;
  process_config.preload = config.preload;
  PythonApplication application(std::move(config));
  const ServingThread serving;
  const int code = process::run(process_config, application, [&application] { return application.fork(); });
  // Threads may be stuck inside views: the interpreter they are in must not be finalized.
  if (application.unloaded()) ::_exit(code);
  return code;
}

int run_command(const std::vector<std::string>& words) noexcept {
  try {
    const auto invocation = cli::parse(words, cli::process_environment());
    return invocation ? serve(*invocation) : cli::leave(invocation.error());
  } catch (const std::exception& failure) {
    base::log::error("m0serve cannot run: {}", failure.what());
    return process::kExitConfig;
  }
}

/// The words as the bytes that the shell gave. False with an exception.
bool read_words(PyObject* list, std::vector<std::string>& words) {
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    PyObject* encoded = nullptr;
    if (PyUnicode_FSConverter(PyList_GetItem(list, i), &encoded) == 0) return false;
    const PyRef word(encoded);
    words.emplace_back(bytes_view(word.get()));
  }
  return true;
}

PyObject* main_function(PyObject*, PyObject* arguments) noexcept {
  try {
    std::vector<std::string> words;
    if (!PyList_Check(arguments)) {
      PyErr_SetString(PyExc_TypeError, "main() takes a list of str");
      return nullptr;
    }
    if (!read_words(arguments, words)) return nullptr;
    return PyLong_FromLong(run_command(words));
  } catch (...) {
    return PyErr_NoMemory();
  }
}

PyMethodDef g_functions[] = {
    {"main", method(main_function), METH_O,
     "main(arguments: list[str]) -> int: runs the command and returns its exit code; on the main thread"},
    {"publish", method(publish_function), METH_VARARGS,
     "publish(channel: bytes, data: bytes, event: bytes, binary: bool) -> str: the id, '!' and why there is none, or "
     "nothing: ask the control socket"},
    {"cursor", method(cursor_function), METH_NOARGS,
     "cursor() -> str | None: the newest event when the head of this thread's request was complete"},
    {"connection", method(connection_function), METH_NOARGS,
     "connection() -> str | None: what the connection of this thread's request is called"},
    {"ask", method(ask_function), METH_VARARGS,
     "ask(verb: bytes, *arguments: bytes) -> list[bytes] | str: what the control socket would answer, or why not"},
    {"_append_steps", method(append_steps_function), METH_NOARGS, "for tests"},
    {"_signal_at", method(signal_at_function), METH_VARARGS, "for tests"},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef g_module = {
    PyModuleDef_HEAD_INIT, "_core", "The server.", 0, g_functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace m0::python

PyMODINIT_FUNC PyInit__core() { return PyModuleDef_Init(&m0::python::g_module); }
