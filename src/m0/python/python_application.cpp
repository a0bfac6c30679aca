#include "m0/python/python_application.hpp"

#include <Python.h>

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>

#include "m0/base/logger.hpp"
#include "m0/python/exception.hpp"
#include "m0/python/text.hpp"
#include "m0/python/wsgi_thread.hpp"

namespace m0::python {
namespace {

PyRef function_of(const char* module, const char* name) {
  const PyRef imported(PyImport_ImportModule(module));
  return imported ? PyRef(PyObject_GetAttrString(imported.get(), name)) : PyRef();
}

std::string text_of(PyObject* object) {
  const PyRef text(object == nullptr ? nullptr : PyObject_Str(object));
  const PyRef bytes(text ? PyUnicode_AsEncodedString(text.get(), "utf-8", "backslashreplace") : nullptr);
  PyErr_Clear();
  return bytes ? std::string(bytes_view(bytes.get())) : std::string();
}

bool is_loader_error(PyObject* type, const char* name) {
  const PyRef expected(function_of("m0serve._loader", name));
  return expected && PyErr_GivenExceptionMatches(type, expected.get()) != 0;
}

/// The raised m0serve._loader.LoadError as ours, its traceback logged; whatever else was raised is logged too.
[[noreturn]] void throw_load_error() {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (is_loader_error(type, "LoadError")) {
    const PyRef kept_type(type);
    const PyRef kept_value(value);
    const PyRef kept_trace(trace);
    const PyRef traceback(PyObject_GetAttrString(value, "trace"));
    const std::string text = text_of(traceback.get());
    if (!text.empty()) base::log::write(base::LogLevel::Error, text);
    if (is_loader_error(type, "ConfigurationError")) throw handler::ConfigurationError(text_of(value));
    throw handler::LoadError(text_of(value));
  }
  PyErr_Restore(type, value, trace);
  base::log::write(base::LogLevel::Error, take_traceback());
  throw handler::LoadError("the application cannot be loaded: the traceback above says why");
}

}  // namespace

PythonApplication::PythonApplication(PythonConfig config) : config_(std::move(config)) {}

void PythonApplication::set_surroundings(const Surroundings& surroundings) noexcept {
  surroundings_ = surroundings;
  // A worker of --preload: loaded before the fork, so its hook runs now. A failure is told at the first thread.
  if (applications_.empty() || !config_.preload) return;
  try {
    const MainAttached attached(main_);
    run_worker_hook();
  } catch (const std::exception& failure) {
    refusal_ = failure.what();
  }
}

void PythonApplication::run_worker_hook() {
  if (config_.worker_start.empty()) return;
  const PyRef run = function_of("m0serve._loader", "run_hook");
  const PyRef target = utf8_text(config_.worker_start);
  const PyRef worker(PyLong_FromUnsignedLong(surroundings_.worker));
  if (!run || !target || !worker ||
      !PyRef(PyObject_CallFunctionObjArgs(run.get(), target.get(), worker.get(), nullptr))) {
    throw_load_error();
  }
}

void PythonApplication::load() {
  const MainAttached attached(main_);
  pthread_sigmask(SIG_SETMASK, nullptr, &signals_);
  const PyRef prepare = function_of("m0serve._interpreter", "prepare");
  const PyRef interval(PyFloat_FromDouble(std::chrono::duration<double>(config_.switch_interval).count()));
  const char* const told = std::getenv("M0_CONTROL");
  const PyRef control(told == nullptr ? Py_NewRef(Py_None) : PyUnicode_DecodeFSDefault(told));
  if (!prepare || !interval || !control ||
      !PyRef(PyObject_CallFunctionObjArgs(prepare.get(), interval.get(), control.get(), nullptr))) {
    throw_load_error();
  }
  interpreter_ = std::make_unique<Interpreter>(surroundings_);
  interpreter_->returned().on_first([this] { main_.wake(); });

  load_applications();
  if (!config_.preload) run_worker_hook();
}

void PythonApplication::load_applications() {
  const PyRef load = function_of("m0serve._loader", "load_all");
  const PyRef target = utf8_text(config_.target);
  const PyRef app_dir(PyUnicode_DecodeFSDefault(config_.app_dir.c_str()));
  const PyRef mounts(PyList_New(0));
  if (!load || !target || !app_dir || !mounts) throw_load_error();
  for (const PythonMount& mount : config_.mounts) {
    const PyRef prefix = utf8_text(mount.prefix);
    const PyRef mounted = utf8_text(mount.target);
    const PyRef pair(prefix && mounted ? PyTuple_Pack(2, prefix.get(), mounted.get()) : nullptr);
    if (!pair || PyList_Append(mounts.get(), pair.get()) != 0) throw_load_error();
  }
  const PyRef found(PyObject_CallFunctionObjArgs(load.get(), target.get(), config_.factory ? Py_True : Py_False,
                                                 app_dir.get(), mounts.get(), nullptr));
  if (!found) throw_load_error();
  for (Py_ssize_t i = 0; i < PyList_Size(found.get()); ++i) {
    applications_.push_back(Py_NewRef(PyList_GetItem(found.get(), i)));
  }
}

unsigned PythonApplication::parallelism() const noexcept { return 1; }

std::unique_ptr<handler::ThreadBody> PythonApplication::make_thread(const pool::ThreadContext& context,
                                                                    std::span<const std::uint16_t>) {
  if (!refusal_.empty()) throw std::runtime_error(refusal_);
  // The loop starts these threads and has signals blocked; a program that a view starts would inherit that.
  pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
  return std::make_unique<WsgiThread>(*interpreter_, applications_, context);
}

void PythonApplication::wait(int wake_fd) {
  if (!applications_.empty()) main_.watch_signals();
  main_.wait(wake_fd, interpreter_ ? &interpreter_->returned() : nullptr);
}

void PythonApplication::unload() noexcept {
  const MainAttached attached(main_);
  unloaded_ = true;
  if (interpreter_) interpreter_->returned().release_all();
  const PyRef run = function_of("m0serve._interpreter", "run_exit_functions");
  if (!run || !PyRef(PyObject_CallNoArgs(run.get()))) log_exception("the application's exit functions");
}

std::string PythonApplication::description() const {
  const std::string_view version = Py_GetVersion();
  return "CPython " + std::string(version.substr(0, version.find(' ')));
}

pid_t PythonApplication::fork() noexcept {
  const MainAttached attached(main_);
  PyOS_BeforeFork();
  const pid_t pid = ::fork();
  const int error = errno;
  if (pid == 0) {
    PyOS_AfterFork_Child();
  } else {
    PyOS_AfterFork_Parent();
  }
  errno = error;
  return pid;
}

}  // namespace m0::python
