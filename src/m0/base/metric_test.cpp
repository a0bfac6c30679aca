#include "m0/base/metric.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace m0::base::metric {
namespace {

const Counter kCounter("m0_test_things_total", "Things that a test counted");
const Gauge kGauge("m0_test_level", "A level that a test set");

/// Counts into a slab of the test's own.
class MetricTest : public ::testing::Test {
 protected:
  MetricTest() : before_(slab()), own_(std::make_unique<Slab>()) { use_slab(*own_); }
  ~MetricTest() override { use_slab(before_); }
  Slab& before_;
  std::unique_ptr<Slab> own_;
};

TEST_F(MetricTest, CountsUp) {
  EXPECT_EQ(kCounter.value(), 0U);
  kCounter.add();
  kCounter.add(41);
  EXPECT_EQ(kCounter.value(), 42U);
}

TEST_F(MetricTest, AGaugeGoesBelowZeroAndBack) {
  kGauge.set(5);
  kGauge.add(-7);
  EXPECT_EQ(kGauge.value(), -2);
  kGauge.add(2);
  EXPECT_EQ(kGauge.value(), 0);
}

TEST_F(MetricTest, DescribesEachMetricOnce) {
  const auto named = [](std::string_view name) {
    return std::ranges::count_if(all(), [&](const Description& d) { return d.name == name; });
  };
  EXPECT_EQ(named("m0_test_things_total"), 1);
  EXPECT_EQ(named("m0_test_level"), 1);
}

TEST_F(MetricTest, ListsOnlyWhatIsNotZero) {
  EXPECT_THAT(nonzero_lines(*own_), ::testing::IsEmpty());
  kCounter.add(3);
  kGauge.set(-4);
  EXPECT_THAT(nonzero_lines(*own_), ::testing::UnorderedElementsAre("m0_test_things_total 3", "m0_test_level -4"));
}

TEST_F(MetricTest, CountsOfTheSlabBeforeStayBehind) {
  kCounter.add(1);
  Slab other{};
  use_slab(other);
  EXPECT_EQ(kCounter.value(), 0U);
  kCounter.add(5);
  use_slab(*own_);
  EXPECT_EQ(kCounter.value(), 1U);
}

TEST_F(MetricTest, ASharedSlabIsSeenByAnotherProcess) {
  void* memory = ::mmap(nullptr, sizeof(Slab), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* shared = new (memory) Slab{};
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    use_slab(*shared);
    kCounter.add(7);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(kCounter.value(), 0U);
  use_slab(*shared);
  EXPECT_EQ(kCounter.value(), 7U);
  use_slab(*own_);
  ::munmap(memory, sizeof(Slab));
}

TEST_F(MetricTest, NoCountIsLostBetweenThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 10'000; ++i) kCounter.add();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(kCounter.value(), 40'000U);
}

}  // namespace
}  // namespace m0::base::metric
