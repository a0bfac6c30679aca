#pragma once
// Who a pool thread is.

#include <string_view>

namespace m0::pool {

/// Given to each thread's body once, on that thread. The lane's name outlives the thread.
struct ThreadContext {
  unsigned worker = 0;    // index of the worker process, from 0
  std::string_view lane;  // "default" unless the configuration names another
  unsigned thread = 0;    // index in the lane, from 0; an index is reused after a thread retired
};

}  // namespace m0::pool
