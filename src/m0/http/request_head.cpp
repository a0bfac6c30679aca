#include "m0/http/request_head.hpp"

#include "m0/base/bytes.hpp"
#include "m0/http/rebase.hpp"

namespace m0::http {

std::string_view RequestHead::find(std::string_view name) const noexcept {
  for (const Field& field : fields) {
    if (base::iequals(field.name, name)) return field.value;
  }
  return {};
}

void copy_head(const RequestHead& from, std::string& storage, RequestHead& to) {
  storage.assign(from.raw);
  to = from;
  rebase(to, from.raw.data(), from.raw.size(), storage.data());
}

}  // namespace m0::http
