#include "m0/python/field_names.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <string>

namespace m0::python {
namespace {

TEST(KnownField, EveryNameIsFoundInAnyCase) {
  for (std::size_t i = 0; i < kKnownFields.size(); ++i) {
    std::string name(kKnownFields[i].name);
    EXPECT_EQ(known_field(name), static_cast<int>(i)) << name;
    for (char& c : name) c = static_cast<char>(std::toupper(c));
    EXPECT_EQ(known_field(name), static_cast<int>(i)) << name;
  }
}

TEST(KnownField, ANeighbourIsNotTaken) {
  for (const KnownField& field : kKnownFields) {
    const std::string name(field.name);
    EXPECT_EQ(known_field(name + "x"), kUnknownField);
    for (std::size_t at = 0; at < name.size(); ++at) {
      std::string other = name;
      other[at] = '~';
      EXPECT_EQ(known_field(other), kUnknownField) << other;
    }
  }
  EXPECT_EQ(known_field(""), kUnknownField);
  EXPECT_EQ(known_field("x"), kUnknownField);
}

TEST(KnownField, AnUnderscoreIsNotADash) { EXPECT_EQ(known_field("user_agent"), kUnknownField); }

TEST(KnownField, KeysAreDerivedFromTheNames) {
  for (const KnownField& field : kKnownFields) {
    if (field.key.empty() || field.name == "content-type") continue;
    std::string key = "HTTP_";
    for (const char c : field.name) key.push_back(c == '-' ? '_' : static_cast<char>(std::toupper(c)));
    EXPECT_EQ(field.key, key);
  }
}

TEST(KnownField, SecretsAreNotKept) {
  for (const KnownField& field : kKnownFields) {
    if (field.name == "cookie" || field.name == "authorization" || field.name == "x-csrftoken") {
      EXPECT_FALSE(field.keep_value) << field.name;
    }
  }
}

}  // namespace
}  // namespace m0::python
