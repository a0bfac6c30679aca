#include "m0/http/date.hpp"

#include <gtest/gtest.h>

namespace m0::http {
namespace {

TEST(Date, IsAnImfFixdate) {
  EXPECT_EQ(imf_fixdate(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(imf_fixdate(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(imf_fixdate(951782400), "Tue, 29 Feb 2000 00:00:00 GMT");
  EXPECT_EQ(imf_fixdate(4102444799), "Thu, 31 Dec 2099 23:59:59 GMT");
}

}  // namespace
}  // namespace m0::http
