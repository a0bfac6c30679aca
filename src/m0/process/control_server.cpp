#include "m0/process/control_server.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "m0/base/logger.hpp"
#include "m0/base/metric.hpp"
#include "m0/net/socket.hpp"

namespace m0::process {
namespace {

const base::metric::Counter g_requests("m0_control_requests_total", "Requests on the control socket");
const base::metric::Counter g_errors("m0_control_errors_total", "Requests on the control socket that were not done");
const base::metric::Counter g_refused("m0_control_refused_total",
                                      "Clients of the control socket that belong to another user");
const base::metric::Counter g_dropped("m0_control_dropped_total",
                                      "Clients of the control socket that were malformed or too slow");

// In a turn, so that one busy client keeps the supervisor from nothing.
constexpr int kMostAccepted = 16;
constexpr int kMostRequests = 16;
constexpr base::Duration kAcceptPause = std::chrono::milliseconds(100);

[[noreturn]] void failed(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

void set_interest(int epoll, int operation, int fd, std::uint32_t events, void* who) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.ptr = who;
  // It can fail for want of memory alone: then this client's time runs out.
  static_cast<void>(::epoll_ctl(epoll, operation, fd, &event));
}

}  // namespace

struct ControlServer::Client {
  Client(base::Fd its_socket, std::size_t largest, base::Instant until)
      : socket(std::move(its_socket)), reader(largest), deadline(until) {}

  base::Fd socket;
  MessageReader reader;
  ControlTask task;       // what it asked for, until it is answered
  base::Instant asked{};  // when
  base::Instant deadline;
  std::string out;  // an answer, and how much of it was sent
  std::size_t sent = 0;
  std::uint32_t interest = EPOLLIN;
  bool ready = false;       // an event came, or something is left from the last turn
  bool said_all = false;    // its end of the connection is closed
  bool last_words = false;  // closed when the answer is out
  bool gone = false;
};

ControlServer::ControlServer(ControlSocket socket, pubsub::EventLog& log, std::span<const ControlVerb> verbs)
    : socket_(std::move(socket)),
      context_{log},
      verbs_(verbs),
      largest_(log.largest_event() + kSlack),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!timer_) failed("timerfd_create");
  if (!epoll_) failed("epoll_create1");
  watch(timer_.get());
  want_clients(true);
}

ControlServer::~ControlServer() = default;

void ControlServer::watch(int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) failed("epoll_ctl");
}

void ControlServer::turn(base::Instant now) {
  std::array<epoll_event, 2 * kMostClients> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  bool somebody_waits = accept_again_ <= now;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.ptr == this) somebody_waits = true;
    if (event.data.ptr == nullptr || event.data.ptr == this) continue;
    on_event(*static_cast<Client*>(event.data.ptr), event.events);
  }
  if (somebody_waits) accept_some(now);
  for (const auto& client : clients_) {
    if (!client->gone) advance(*client, now);
  }
  reap();
  want_clients(clients_.size() < kMostClients && accept_again_ == base::Instant::max());
  wake_at(next_time(now), now);
}

void ControlServer::stop_listening() noexcept {
  if (!listening_) return;
  want_clients(false);
  listening_ = false;
  accept_again_ = base::Instant::max();
  // A worker that is just being forked may hold a copy for a moment longer.
  ::shutdown(socket_.listener.fd(), SHUT_RDWR);
  socket_.listener.close();
}

void ControlServer::accept_some(base::Instant now) {
  accept_again_ = base::Instant::max();
  for (int i = 0; listening_ && i < kMostAccepted && clients_.size() < kMostClients; ++i) {
    net::Accepted accepted = net::accept_one(socket_.listener.fd());
    switch (accepted.what) {
      case net::Accepted::What::Socket: add_client(std::move(accepted.socket), now); continue;
      case net::Accepted::What::PeerGone: continue;
      case net::Accepted::What::WouldBlock: return;
      case net::Accepted::What::Exhausted: accept_again_ = now + kAcceptPause; return;
      case net::Accepted::What::Broken:
        base::log::error("the control socket is broken ({}) and closed",
                         std::generic_category().message(accepted.error));
        stop_listening();
        return;
    }
  }
}

void ControlServer::add_client(base::Fd socket, base::Instant now) {
  if (!socket_.access.allows_peer(socket.get())) {
    g_refused.add();
    return;
  }
  auto& client = clients_.emplace_back(std::make_unique<Client>(std::move(socket), largest_, now + kPeerTime));
  set_interest(epoll_.get(), EPOLL_CTL_ADD, client->socket.get(), EPOLLIN, client.get());
  receive(*client);  // most have said everything by now
}

void ControlServer::on_event(Client& client, std::uint32_t events) {
  // Who closed both ways waits for no answer; what it said before is read first.
  if ((events & EPOLLIN) != 0) {
    receive(client);
  } else if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
    client.gone = true;
  }
}

void ControlServer::receive(Client& client) {
  std::array<char, std::size_t{64} * 1024> piece;
  const ssize_t got = ::recv(client.socket.get(), piece.data(), piece.size(), 0);
  if (got > 0) {
    client.reader.feed({piece.data(), static_cast<std::size_t>(got)});
  } else if (got == 0) {
    client.said_all = true;
  } else if (errno != EAGAIN && errno != EINTR) {
    client.gone = true;
  }
}

void ControlServer::advance(Client& client, base::Instant now) {
  for (int begun = 0; !client.gone;) {
    if (client.task) ask(client, now);
    if (client.task) break;
    if (!client.out.empty()) send(client, now);
    if (client.gone || !client.out.empty()) break;
    client.ready = begun == kMostRequests;
    if (client.ready || !begin_next(client, now)) break;
    ++begun;
  }
  if (!client.gone && !client.task && client.deadline <= now) {
    g_dropped.add();
    client.gone = true;
  }
  if (!client.gone) want(client);
}

bool ControlServer::begin_next(Client& client, base::Instant now) {
  auto request = client.reader.next();
  if (!request) {
    g_dropped.add();
    client.last_words = true;
    answer(client, control_error(describe(request.error())), now);
    return true;
  }
  if (!*request) {
    client.gone = client.said_all;
    return false;
  }
  g_requests.add();
  client.asked = now;
  client.task = begin_request(verbs_, context_, std::move(**request));
  return true;
}

void ControlServer::ask(Client& client, base::Instant now) {
  const bool last = now - client.asked >= kPatience;
  auto said = client.task(last);
  if (!said && !last) return;
  client.task = nullptr;
  answer(client, said ? *said : control_error("the server could not do it in time"), now);
}

void ControlServer::answer(Client& client, const ControlAnswer& answer, base::Instant now) {
  if (!answer.ok) g_errors.add();
  std::vector<std::string_view> fields{answer.ok ? "ok" : "error"};
  fields.insert(fields.end(), answer.fields.begin(), answer.fields.end());
  client.out = encode_message(fields);
  client.sent = 0;
  client.deadline = now + kPeerTime;
}

void ControlServer::send(Client& client, base::Instant now) {
  const std::string_view rest = std::string_view(client.out).substr(client.sent);
  const ssize_t wrote = ::send(client.socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (wrote < 0) {
    client.gone = errno != EAGAIN && errno != EINTR;
    return;
  }
  client.sent += static_cast<std::size_t>(wrote);
  if (client.sent < client.out.size()) return;
  client.out = std::string();
  client.deadline = now + kPeerTime;
  client.gone = client.last_words;
}

void ControlServer::want(Client& client) {
  std::uint32_t interest = EPOLLIN;
  if (client.task || client.ready || client.said_all) interest = 0;
  if (!client.out.empty()) interest = EPOLLOUT;
  if (client.interest == interest) return;
  client.interest = interest;
  set_interest(epoll_.get(), EPOLL_CTL_MOD, client.socket.get(), interest, &client);
}

void ControlServer::reap() noexcept {
  std::erase_if(clients_, [&](const std::unique_ptr<Client>& client) {
    if (!client->gone) return false;
    // A worker that is just being forked may hold a copy for a moment longer.
    set_interest(epoll_.get(), EPOLL_CTL_DEL, client->socket.get(), 0, nullptr);
    ::shutdown(client->socket.get(), SHUT_RDWR);
    return true;
  });
}

void ControlServer::want_clients(bool wanted) {
  if (!listening_ || wanting_ == wanted) return;
  wanting_ = wanted;
  set_interest(epoll_.get(), wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, socket_.listener.fd(), EPOLLIN, this);
}

base::Instant ControlServer::next_time(base::Instant now) const noexcept {
  base::Instant next = accept_again_;
  for (const auto& client : clients_) {
    if (client->ready) return now;
    next = std::min(next, client->task ? now + kRetryEvery : client->deadline);
  }
  return next;
}

void ControlServer::wake_at(base::Instant at, base::Instant now) noexcept {
  itimerspec once{};  // all zero: never
  if (at != base::Instant::max()) {
    const auto left = std::max<std::int64_t>(1, (at - now).count());
    once.it_value = {static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
  }
  // It also empties the timer: what had expired is forgotten.
  ::timerfd_settime(timer_.get(), 0, &once, nullptr);
}

}  // namespace m0::process
