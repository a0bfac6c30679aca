#include "m0/handler/response.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace m0::handler {
namespace {

TEST(Response, Helpers) {
  EXPECT_EQ(Response::text("a").head.fields.find("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(Response::text("a").body.bytes, "a");
  EXPECT_EQ(Response::json("{}", 201).head.status, 201);
  EXPECT_EQ(Response::json("{}").head.fields.find("Content-Type"), "application/json");
  EXPECT_EQ(Response::bytes("image/png", "x").head.fields.find("Content-Type"), "image/png");
  EXPECT_EQ(Response::with_status(204).body.bytes, "");
  EXPECT_EQ(Response::with_status(204).head.fields.size(), 0U);
  EXPECT_EQ(Response::with_status(404).head.fields.find("Content-Type"), "application/problem+json");
  EXPECT_EQ(Response::redirect("/there").head.status, 303);
  EXPECT_EQ(Response::redirect("/there").head.fields.find("Location"), "/there");
  EXPECT_NE(Response::problem(422, "no").body.bytes.find("\"detail\":\"no\""), std::string::npos);
}

TEST(Response, SetReplacesAndAddAdds) {
  Response response =
      Response::text("a").set("content-type", "text/x").add("Set-Cookie", "a=1").add("Set-Cookie", "b=2");
  EXPECT_EQ(response.head.fields.size(), 3U);
  EXPECT_EQ(response.head.fields.find("Content-Type"), "text/x");
  response.set("Set-Cookie", "c=3");
  EXPECT_EQ(response.head.fields.size(), 2U);
}

TEST(Response, NoFieldBreaksTheHead) {
  Response response;
  for (const std::string_view bad : std::vector<std::string_view>{"a\r\nX: 1", "a\nb", "a\rb", {"a\0b", 3}}) {
    EXPECT_THROW(response.set("X-A", bad), std::invalid_argument);
    EXPECT_THROW(response.add("X-A", bad), std::invalid_argument);
    EXPECT_THROW(response.set(bad, "x"), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(Response::redirect(bad)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(Response::bytes(bad, "")), std::invalid_argument);
  }
  EXPECT_THROW(response.set("", "x"), std::invalid_argument);
  EXPECT_EQ(response.head.fields.size(), 0U);
}

class ResponseFile : public ::testing::Test {
 protected:
  ResponseFile() : folder_(std::filesystem::temp_directory_path() / ("m0-response-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~ResponseFile() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& content) {
    const auto path = folder_ / name;
    std::ofstream(path) << content;
    return path;
  }
  std::filesystem::path folder_;
};

TEST_F(ResponseFile, IsSentFromItsDescriptor) {
  const Response response = Response::file(write("a.HTML", "hello"));
  EXPECT_EQ(response.head.status, 200);
  EXPECT_EQ(response.head.fields.find("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(response.body.kind, ResponseBody::Kind::File);
  EXPECT_EQ(response.body.file_length, 5U);
  EXPECT_EQ(Response::file(write("a.unknown", "")).head.fields.find("Content-Type"), "application/octet-stream");
  EXPECT_EQ(Response::file(write("noending", "")).head.fields.find("Content-Type"), "application/octet-stream");
  EXPECT_EQ(Response::file(write("b.css", ""), "text/x").head.fields.find("Content-Type"), "text/x");
}

TEST_F(ResponseFile, OnlyARegularFile) {
  EXPECT_EQ(Response::file(folder_ / "missing").head.status, 404);
  EXPECT_EQ(Response::file(folder_ / "a" / "b").head.status, 404);
  EXPECT_EQ(Response::file(folder_).head.status, 404);
  EXPECT_EQ(Response::file(std::string(5000, 'x')).head.status, 404);
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(Response::file(pipe).head.status, 404) << "and it did not wait for a writer";
  EXPECT_EQ(Response::file(write("file", "") + "/below").head.status, 404);
}

TEST(ResponseStream, NeedsAProducer) {
  EXPECT_THROW(static_cast<void>(Response::stream("text/plain", nullptr)), std::invalid_argument);
  const Response response = Response::stream("text/plain", [](std::string&) { return Produced::Last; });
  EXPECT_EQ(response.body.kind, ResponseBody::Kind::Stream);
}

}  // namespace
}  // namespace m0::handler
