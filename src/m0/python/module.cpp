// m0serve._core: what Python imports.

#include <Python.h>

#include "m0/python/python_type.hpp"

namespace m0::python {
namespace {

PyMethodDef g_functions[] = {{nullptr, nullptr, 0, nullptr}};
PyModuleDef g_module = {
    PyModuleDef_HEAD_INIT, "_core", "The server.", 0, g_functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace m0::python

PyMODINIT_FUNC PyInit__core() { return PyModuleDef_Init(&m0::python::g_module); }
