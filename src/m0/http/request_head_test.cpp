#include "m0/http/request_head.hpp"

#include <gtest/gtest.h>

#include <string>

#include "m0/http/head_parser.hpp"

namespace m0::http {
namespace {

RequestHead parsed(const std::string& bytes) {
  RequestHead head;
  HeadParser parser(HeadParser::Section::Request);
  const auto size = parser.parse({}, bytes, head);
  EXPECT_TRUE(size && *size == bytes.size());
  return head;
}

TEST(RequestHead, SplitsPathAndQuery) {
  const std::string bytes = "GET /a?b?c HTTP/1.1\r\nHost: h\r\n\r\n";
  const RequestHead head = parsed(bytes);
  EXPECT_EQ(head.raw, bytes);
  EXPECT_EQ(head.path, "/a");
  EXPECT_EQ(head.query, "b?c");
}

TEST(RequestHead, PathOfEachForm) {
  std::string bytes = "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_EQ(parsed(bytes).path, "*");
  bytes = "GET http://b?c HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_EQ(parsed(bytes).path, "/");
  EXPECT_EQ(parsed(bytes).query, "c");
  bytes = "GET http://b/d?e HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_EQ(parsed(bytes).path, "/d");
  EXPECT_EQ(parsed(bytes).query, "e");
}

TEST(RequestHead, AuthorityOfAbsoluteFormReplacesTheFieldToo) {
  std::string bytes = "GET http://b/ HTTP/1.1\r\nhost: h\r\n\r\n";
  EXPECT_EQ(parsed(bytes).find("Host"), "b");
  EXPECT_EQ(parsed(bytes).fields.size(), 1U);
  bytes = "GET http://b/ HTTP/1.0\r\n\r\n";
  EXPECT_EQ(parsed(bytes).find("Host"), "b");
}

TEST(RequestHead, FindIgnoresCaseAndTellsAbsentFromEmpty) {
  const std::string bytes = "GET / HTTP/1.1\r\nHost: h\r\nX-Empty:\r\n\r\n";
  const RequestHead head = parsed(bytes);
  EXPECT_EQ(head.find("hOsT"), "h");
  EXPECT_NE(head.find("x-empty").data(), nullptr);
  EXPECT_EQ(head.find("x-absent").data(), nullptr);
}

TEST(RequestHead, CopyPointsIntoItsOwnStorage) {
  RequestHead copy;
  std::string storage;
  {
    const std::string bytes = "GET http://b?c HTTP/1.1\r\nHost: h\r\nA: " + std::string(100, 'v') + "\r\nE:\r\n\r\n";
    const RequestHead head = parsed(bytes);
    copy_head(head, storage, copy);
  }
  const auto inside = [&](std::string_view view) {
    return view.data() >= storage.data() && view.data() + view.size() <= storage.data() + storage.size();
  };
  EXPECT_TRUE(inside(copy.raw) && inside(copy.method) && inside(copy.target) && inside(copy.query));
  EXPECT_TRUE(inside(copy.authority));
  for (const Field& field : copy.fields) EXPECT_TRUE(inside(field.name) && inside(field.value));
  EXPECT_EQ(copy.method, "GET");
  EXPECT_EQ(copy.authority, "b");
  EXPECT_EQ(copy.path, "/");
  EXPECT_EQ(copy.find("A"), std::string(100, 'v'));
  EXPECT_EQ(copy.find("E"), "");
}

TEST(RequestHead, WhatLiesRightBehindTheHeadIsNotPartOfIt) {
  const std::string block = "GET / HTTP/1.1\r\nHost: h\r\n\r\n/";
  RequestHead head;
  head.raw = std::string_view(block).substr(0, block.size() - 1);
  head.path = std::string_view(block).substr(block.size() - 1);
  head.query = std::string_view(block).substr(block.size() - 1, 0);
  RequestHead copy;
  std::string storage;
  copy_head(head, storage, copy);
  EXPECT_EQ(copy.path.data(), head.path.data());
  EXPECT_EQ(copy.query.data(), storage.data() + storage.size());
}

TEST(RequestHead, CopyReplacesWhatWasThere) {
  RequestHead copy;
  std::string storage;
  const std::string first = "GET /long/path?with=query HTTP/1.1\r\nHost: h\r\nA: b\r\nC: d\r\n\r\n";
  const std::string second = "GET / HTTP/1.0\r\n\r\n";
  copy_head(parsed(first), storage, copy);
  copy_head(parsed(second), storage, copy);
  EXPECT_EQ(copy.path, "/");
  EXPECT_EQ(copy.query.data(), nullptr);
  EXPECT_TRUE(copy.fields.empty());
  EXPECT_EQ(copy.version, Version::Http10);
  EXPECT_EQ(storage, second);
}

}  // namespace
}  // namespace m0::http
