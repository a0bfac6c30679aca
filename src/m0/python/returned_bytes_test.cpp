#include "m0/python/returned_bytes.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "m0/python/harness_test.hpp"

namespace m0::python::testing {
namespace {

constexpr std::string_view kScript = R"(
dropped = []
class Body(bytes):
    def __del__(self): dropped.append(bytes(self))
def make(text): return Body(text)
)";

PyRef make(const Script& script, const char* text) {
  const PyRef function = script.get("make");
  const PyRef bytes(PyBytes_FromString(text));
  return PyRef(PyObject_CallFunctionObjArgs(function.get(), bytes.get(), nullptr));
}

TEST(ReturnedBytes, GivingBackDropsNothing) {
  const Script script(kScript);
  ReturnedBytes home;
  auto* const body = new PythonBytes(make(script, "one"), home);
  EXPECT_EQ(body->bytes(), "one");
  EXPECT_TRUE(home.empty());
  body->give_back();
  EXPECT_FALSE(home.empty());
  EXPECT_EQ(script.eval("dropped"), "[]");
  home.release_all();
  EXPECT_TRUE(home.empty());
  EXPECT_EQ(script.eval("dropped"), "[b'one']");
  home.release_all();
}

TEST(ReturnedBytes, OnlyTheFirstWakesUntilItRests) {
  const Script script(kScript);
  ReturnedBytes home;
  int wakes = 0;
  home.on_first([&] { ++wakes; });
  (new PythonBytes(make(script, "a"), home))->give_back();
  (new PythonBytes(make(script, "b"), home))->give_back();
  EXPECT_EQ(wakes, 1);
  home.release_all();
  EXPECT_EQ(script.eval("sorted(dropped)"), "[b'a', b'b']");
  (new PythonBytes(make(script, "c"), home))->give_back();
  EXPECT_EQ(wakes, 1) << "whoever was woken still looks after it";
  EXPECT_FALSE(home.rest()) << "there is something to release";
  home.release_all();
  EXPECT_TRUE(home.rest());
  (new PythonBytes(make(script, "d"), home))->give_back();
  EXPECT_EQ(wakes, 2);
  home.release_all();
}

TEST(ReturnedBytes, ManyThreadsMayGiveBack) {
  const Script script(kScript);
  ReturnedBytes home;
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kEach = 200;
  std::vector<PythonBytes*> bodies;
  bodies.reserve(kThreads * kEach);
  for (std::size_t i = 0; i < kThreads * kEach; ++i) bodies.push_back(new PythonBytes(make(script, "x"), home));
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < kEach; ++i) bodies[t * kEach + i]->give_back();
    });
  }
  for (std::thread& thread : threads) thread.join();
  home.release_all();
  EXPECT_EQ(script.eval("len(dropped)"), std::to_string(kThreads * kEach));
}

}  // namespace
}  // namespace m0::python::testing
