#include "m0/python/body_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "m0/base/bytes.hpp"

namespace m0::python {
namespace {
thread_local int t_error = 0;
}

int BodyReader::error() noexcept { return t_error; }

void BodyReader::attach(const handler::BodyStore& body) noexcept {
  const std::lock_guard lock(mutex_);
  body_ = &body;
  position_ = 0;
  ahead_.clear();
}

void BodyReader::detach() noexcept {
  const std::lock_guard lock(mutex_);
  body_ = nullptr;
  base::free_room(ahead_);
}

bool BodyReader::in_memory() noexcept {
  const std::lock_guard lock(mutex_);
  return body_ != nullptr && body_->in_memory();
}

BodyReader::Status BodyReader::claim(std::size_t most, Claim& claimed) noexcept {
  const std::lock_guard lock(mutex_);
  if (body_ == nullptr) return Status::Over;
  const std::uint64_t left = body_->size() - position_;
  claimed = {position_, static_cast<std::size_t>(std::min<std::uint64_t>(left, most))};
  position_ += claimed.size;
  return Status::Ok;
}

std::span<const char> BodyReader::look(std::uint64_t offset) {
  t_error = 0;
  if (body_->in_memory()) {
    const std::string_view bytes = body_->memory();
    return std::span(bytes).subspan(std::min<std::size_t>(offset, bytes.size()));
  }
  if (offset < ahead_offset_ || offset >= ahead_offset_ + ahead_.size()) {
    ahead_.resize(kReadAhead);
    const std::ptrdiff_t got = body_->read_at(offset, ahead_);
    if (got < 0) t_error = errno;
    ahead_.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    ahead_offset_ = offset;
  }
  return std::span<const char>(ahead_).subspan(ahead_.empty() ? 0 : offset - ahead_offset_);
}

BodyReader::Status BodyReader::claim_line(std::size_t most, Claim& claimed) noexcept {
  const std::lock_guard lock(mutex_);
  if (body_ == nullptr) return Status::Over;
  claimed = {position_, 0};
  while (claimed.size < most) {
    std::span<const char> bytes;
    try {
      bytes = look(position_ + claimed.size);
    } catch (...) {  // no memory to read ahead
      t_error = ENOMEM;
    }
    if (t_error != 0) return Status::Failed;
    if (bytes.empty()) break;
    bytes = bytes.first(std::min(bytes.size(), most - claimed.size));
    const void* const newline = std::memchr(bytes.data(), '\n', bytes.size());
    if (newline != nullptr) {
      claimed.size += static_cast<std::size_t>(static_cast<const char*>(newline) - bytes.data()) + 1;
      break;
    }
    claimed.size += bytes.size();
  }
  position_ += claimed.size;
  return Status::Ok;
}

BodyReader::Status BodyReader::fill(const Claim& claimed, std::span<char> into) noexcept {
  const std::lock_guard lock(mutex_);
  if (body_ == nullptr) return Status::Over;
  std::size_t done = 0;
  while (done < into.size()) {
    const std::uint64_t offset = claimed.offset + done;
    if (!body_->in_memory() && offset >= ahead_offset_ && offset < ahead_offset_ + ahead_.size()) {
      const std::size_t from = static_cast<std::size_t>(offset - ahead_offset_);
      const std::size_t take = std::min(ahead_.size() - from, into.size() - done);
      std::memcpy(into.data() + done, ahead_.data() + from, take);
      done += take;
      continue;
    }
    const std::ptrdiff_t got = body_->read_at(offset, into.subspan(done));
    if (got <= 0) {
      t_error = got < 0 ? errno : EIO;  // EIO: the file is shorter than what was written to it
      return Status::Failed;
    }
    done += static_cast<std::size_t>(got);
  }
  return Status::Ok;
}

}  // namespace m0::python
