#include "m0/handler/body_store.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "m0/base/bytes.hpp"
#include "m0/base/metric.hpp"

namespace m0::handler {
namespace {

const base::metric::Counter g_spilled("m0_bodies_spilled_total", "Request bodies that went to a temporary file");
const base::metric::Counter g_over_budget("m0_bodies_over_budget_total",
                                          "Request bodies refused because all bodies together take too much");
const base::metric::Counter g_disk_failed("m0_bodies_disk_failed_total",
                                          "Request bodies lost because the temporary file could not be written");

int open_unlinked() noexcept {
  const char* wanted = std::getenv("TMPDIR");
  for (const char* directory : {wanted, "/tmp", "/var/tmp"}) {
    if (directory == nullptr || *directory == '\0') continue;
    int fd = ::open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
    // Some file systems (NFS, the overlays of older kernels) know no file without a name.
    std::string name = std::string(directory) + "/m0serve-body-XXXXXX";
    fd = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd < 0) continue;
    ::unlink(name.c_str());
    return fd;
  }
  return -1;
}

}  // namespace

bool BodyStore::open_file() noexcept {
  int fd = open_unlinked();
  counted_as_memory_ = fd < 0;
  // Nowhere to write (a read-only root): anonymous memory behind the same interface, counted as memory.
  if (fd < 0) fd = ::memfd_create("m0serve-body", MFD_CLOEXEC);
  file_ = base::Fd(fd);
  return static_cast<bool>(file_);
}

BodyAppend BodyStore::append(std::string_view bytes) {
  if (!file_ && memory_.size() + bytes.size() <= kInMemory) {
    if (budget_->memory_used + bytes.size() > budget_->memory_limit) {
      g_over_budget.add();
      return BodyAppend::OverBudget;
    }
    budget_->memory_used += bytes.size();
    memory_.append(bytes);
    size_ += bytes.size();
    return BodyAppend::Ok;
  }

  std::string spilled;
  if (!file_) {
    if (!open_file()) {
      g_disk_failed.add();
      return BodyAppend::DiskFailed;
    }
    g_spilled.add();
    budget_->memory_used -= memory_.size();
    size_ = 0;
    spilled.swap(memory_);
  }
  for (std::string_view piece : {std::string_view(spilled), bytes}) {
    std::uint64_t& used = counted_as_memory_ ? budget_->memory_used : budget_->disk_used;
    const std::uint64_t limit = counted_as_memory_ ? budget_->memory_limit : budget_->disk_limit;
    if (used + piece.size() > limit) {
      g_over_budget.add();
      return BodyAppend::OverBudget;
    }
    while (!piece.empty()) {
      const ssize_t wrote = ::pwrite(file_.get(), piece.data(), piece.size(), static_cast<off_t>(size_));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) {
        g_disk_failed.add();
        return BodyAppend::DiskFailed;
      }
      const auto count = static_cast<std::size_t>(wrote);
      used += count;
      size_ += count;
      piece.remove_prefix(count);
    }
  }
  return BodyAppend::Ok;
}

void BodyStore::clear() noexcept {
  if (file_) {
    (counted_as_memory_ ? budget_->memory_used : budget_->disk_used) -= size_;
    file_.reset();
  } else {
    budget_->memory_used -= size_;
  }
  // What one request needed is not kept for the next one, which may never come.
  if (memory_.capacity() > kKept) base::free_room(memory_);
  memory_.clear();
  size_ = 0;
}

std::ptrdiff_t BodyStore::read_at(std::uint64_t offset, std::span<char> into) const noexcept {
  if (offset >= size_ || into.empty()) return 0;
  const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), size_ - offset));
  if (!file_) {
    std::memcpy(into.data(), memory_.data() + offset, count);
    return static_cast<std::ptrdiff_t>(count);
  }
  for (;;) {
    const ssize_t got = ::pread(file_.get(), into.data(), count, static_cast<off_t>(offset));
    if (got >= 0 || errno != EINTR) return got;
  }
}

}  // namespace m0::handler
