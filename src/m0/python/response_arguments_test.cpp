#include "m0/python/response_arguments.hpp"

#include <gtest/gtest.h>

#include "m0/python/harness_test.hpp"

namespace m0::python::testing {
namespace {

/// The name of the exception, or the status, reason and headers.
std::string read(const std::string& status, const std::string& headers) {
  const Script script("status = " + status + "\nheaders = " + headers + "\n");
  http::ResponseHead head;
  http::BodyLength declared;
  if (!read_response_arguments(script.get("status").get(), script.get("headers").get(), head, declared)) {
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    const bool value_error = PyErr_GivenExceptionMatches(type, PyExc_ValueError) != 0;
    const bool type_error = PyErr_GivenExceptionMatches(type, PyExc_TypeError) != 0;
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return value_error ? "ValueError" : type_error ? "TypeError" : "another";
  }
  std::string text = std::to_string(head.status) + "|" + head.reason;
  for (std::size_t i = 0; i < head.fields.size(); ++i) {
    text.append("|").append(head.fields[i].name).append("=").append(head.fields[i].value);
  }
  if (declared) text.append("|#").append(std::to_string(*declared));
  return text;
}

TEST(ResponseArguments, Statuses) {
  EXPECT_EQ(read("'200 OK'", "[]"), "200|OK");
  EXPECT_EQ(read("'404 Not Found Here'", "[]"), "404|Not Found Here");
  EXPECT_EQ(read("'599 '", "[]"), "599|");
  EXPECT_EQ(read("'200'", "[]"), "200|");
  EXPECT_EQ(read("'200 caf\\xe9'", "[]"), "200|caf\xe9");
  for (const char* bad :
       {"''", "'20'", "'2000 OK'", "'abc OK'", "'20x OK'", "'-12 OK'", "'200OK'", "'100 Continue'", "'600 Far'",
        "'000 No'", "'200 O\\r\\nX: y'", "'200 O\\nX'", "'200 O\\0'", "'200 \\u20ac'", "'200 \\ud800'"}) {
    EXPECT_EQ(read(bad, "[]"), "ValueError") << bad;
  }
  EXPECT_EQ(read("b'200 OK'", "[]"), "TypeError");
  EXPECT_EQ(read("200", "[]"), "TypeError");
  EXPECT_EQ(read("None", "[]"), "TypeError");
}

TEST(ResponseArguments, HeadersKeepTheirOrderAndCase) {
  EXPECT_EQ(read("'200 OK'", "[('X-b', '1'), ('x-A', '2'), ('X-b', '3')]"), "200|OK|X-b=1|x-A=2|X-b=3");
  EXPECT_EQ(read("'200 OK'", "[('X', '')]"), "200|OK|X=");
  EXPECT_EQ(read("'200 OK'", "[('X', 'caf\\xe9')]"), "200|OK|X=caf\xe9");
}

TEST(ResponseArguments, WhatWouldBreakTheWireIsRefused) {
  for (const char* bad :
       {"[('X', 'a\\rb')]", "[('X', 'a\\nb')]", "[('X', 'a\\r\\nSet-Cookie: x')]", "[('X', 'a\\0b')]",
        "[('X', '\\x7f')]", "[('X', '\\u20ac')]", "[('X', '\\ud800')]", "[('X\\r\\nY', 'a')]", "[('X Y', 'a')]",
        "[('X:', 'a')]", "[('', 'a')]", "[('\\xe9', 'a')]", "[('X\\0', 'a')]", "[('\\u20ac', 'a')]"}) {
    EXPECT_EQ(read("'200 OK'", bad), "ValueError") << bad;
  }
}

TEST(ResponseArguments, OtherPairsThanTuplesAreTaken) {
  EXPECT_EQ(read("'200 OK'", "[['X', 'y']]"), "200|OK|X=y");
  EXPECT_EQ(read("'200 OK'", "(('X', 'y'),)"), "200|OK|X=y");
  EXPECT_EQ(read("'200 OK'", "{'X': 'y'}.items()"), "200|OK|X=y");
}

TEST(ResponseArguments, WrongTypesAreTypeErrors) {
  for (const char* bad : {"None", "5", "[None]", "[('a',)]", "[('a', 'b', 'c')]", "[('a', None)]", "[('a', b'b')]",
                          "[(b'a', 'b')]", "[('a', 1)]"}) {
    EXPECT_EQ(read("'200 OK'", bad), "TypeError") << bad;
  }
}

TEST(ResponseArguments, ContentLength) {
  EXPECT_EQ(read("'200 OK'", "[('content-LENGTH', '12')]"), "200|OK|content-LENGTH=12|#12");
  EXPECT_EQ(read("'200 OK'", "[('Content-Length', ' 12 ')]"), "200|OK|Content-Length= 12 |#12");
  EXPECT_EQ(read("'200 OK'", "[('Content-Length', '0')]"), "200|OK|Content-Length=0|#0");
  EXPECT_EQ(read("'200 OK'", "[('Content-Length', '3'), ('Content-Length', '3')]"), "200|OK|Content-Length=3|#3");
  for (const char* bad : {"''", "'-1'", "'+1'", "'0x10'", "'1,1'", "'1 1'", "'1e3'", "'9999999999999999999'"}) {
    EXPECT_EQ(read("'200 OK'", "[('Content-Length', " + std::string(bad) + ")]"), "ValueError") << bad;
  }
  EXPECT_EQ(read("'200 OK'", "[('Content-Length', '1'), ('Content-Length', '2')]"), "ValueError");
}

TEST(ResponseArguments, AListThatChangesWhileItIsReadIsSafe) {
  // The pair empties the list of which it is the first item.
  EXPECT_EQ(read("'200 OK'",
                 "(lambda box: box.extend([type('Pair', (), {'__iter__': lambda self: (box.clear(), iter(('X', "
                 "'y')))[1]})(), None]) or box)([])"),
            "200|OK|X=y");
}

}  // namespace
}  // namespace m0::python::testing
