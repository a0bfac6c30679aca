#include "m0/native/server.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <optional>
#include <vector>

#include "m0/base/logger.hpp"
#include "m0/cli/lane_words.hpp"
#include "m0/cli/parse.hpp"
#include "m0/native/native_application.hpp"
#include "m0/process/exit_codes.hpp"
#include "m0/process/run.hpp"

namespace m0::native {
namespace {

struct Added {
  std::string prefix;
  MountedHandler handler;
};

std::optional<unsigned> wished(unsigned number) { return number > 0 ? std::optional(number) : std::nullopt; }

/// The lane that a mount asks for; what it does not say is as the server's own. Nothing where it contradicts itself.
std::optional<pool::LaneConfig> lane_of(const Added& added, const pool::LaneConfig& own) {
  const LaneWish& wish = added.handler.lane;
  pool::LaneConfig lane = own;
  lane.name = added.prefix.empty() ? "/" : added.prefix;
  if (!cli::set_threads(lane, wished(wish.threads), wished(wish.max_threads))) return std::nullopt;
  if (wish.queue > 0) lane.queue = wish.queue;
  if (wish.queue_timeout > base::Duration::zero()) lane.queue_timeout = wish.queue_timeout;
  return lane;
}

/// What is wrong with the mounts: one sentence; empty where nothing is.
std::string mounts_problem(const std::vector<Added>& mounts) {
  if (mounts.empty()) return "nothing is mounted: call mount() before run()";
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const std::string& prefix = mounts[i].prefix;
    if (const std::string problem = server::prefix_problem(prefix); !problem.empty()) {
      return fmt::format("mount(\"{}\"): {}", prefix, problem);
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (mounts[j].prefix == prefix) return fmt::format("mount(\"{}\") comes twice", prefix.empty() ? "/" : prefix);
    }
    const LaneWish& wish = mounts[i].handler.lane;
    if (!lane_of(mounts[i], {})) {
      return fmt::format("mount(\"{}\"): max_threads {} is less than threads {}", prefix, wish.max_threads,
                         wish.threads);
    }
  }
  return "";
}

}  // namespace

struct Server::State {
  std::vector<std::string> words;
  std::string program = "server";
  std::vector<Added> mounts;
};

Server::Server(int argc, char** argv) : state_(std::make_unique<State>()) {
  if (argc > 0) {
    state_->program = argv[0];
    state_->program.erase(0, state_->program.rfind('/') + 1);
  }
  for (int i = 1; i < argc; ++i) state_->words.emplace_back(argv[i]);
}

Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

void Server::add(std::string_view prefix, MountedHandler handler) {
  if (prefix == "/") prefix = {};
  state_->mounts.push_back({std::string(prefix), std::move(handler)});
}

int Server::run() {
  try {
    const auto parsed = cli::parse(state_->words, cli::process_environment(), cli::Door::Native, state_->program);
    if (!parsed) return cli::leave(parsed.error());
    if (const std::string problem = mounts_problem(state_->mounts); !problem.empty()) {
      base::log::error("{}", problem);
      return process::kExitConfig;
    }
    process::Config config = parsed->config;
    config.server.mounts.clear();
    std::vector<MountedHandler> handlers;
    for (Added& added : state_->mounts) {
      server::Mount mount;
      mount.prefix = added.prefix;
      mount.target = static_cast<std::uint16_t>(handlers.size());
      mount.on_loop = static_cast<bool>(added.handler.make_for_loop);
      if (!mount.on_loop && !added.handler.lane.none()) mount.lane = lane_of(added, config.server.lane);
      config.server.mounts.push_back(std::move(mount));
      handlers.push_back(added.handler);
    }
    NativeApplication application(std::move(handlers));
    return process::run(config, application, [] { return ::fork(); });
  } catch (const std::exception& failure) {
    base::log::error("{} cannot run: {}", state_->program, failure.what());
    return process::kExitConfig;
  }
}

}  // namespace m0::native
