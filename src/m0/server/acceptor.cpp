#include "m0/server/acceptor.hpp"

#include <cstring>
#include <memory>
#include <utility>

#include "m0/base/logger.hpp"
#include "m0/base/metric.hpp"
#include "m0/net/socket.hpp"
#include "m0/net/tcp_transport.hpp"
#include "m0/server/connection.hpp"

namespace m0::server {
namespace {

const base::metric::Counter g_accepted("m0_connections_accepted_total", "Clients taken from a listener");
const base::metric::Counter g_full("m0_connections_full_total",
                                   "Times the listener rested because --max-connections was reached");
const base::metric::Counter g_exhausted("m0_descriptors_exhausted_total",
                                        "Times the listener rested because no descriptor was left");

handler::PeerAddress to_peer(const net::PeerName& name) noexcept {
  handler::PeerAddress peer;
  peer.bytes = name.bytes;
  peer.port = name.port;
  peer.family = static_cast<handler::PeerAddress::Family>(name.family);
  return peer;
}

handler::ListenerInfo describe(const net::BindAddress& address) {
  if (address.is_unix()) return {address.path, "", true};
  // An IPv6 address in brackets, as a URL needs it (RFC 3875 4.1.14).
  const bool v6 = address.host.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + address.host + "]" : address.host;
  return {host.empty() ? "0.0.0.0" : host, std::to_string(address.port), false};
}

}  // namespace

Acceptor::Acceptor(LoopShared& shared, AcceptGate& gate, WorkerLoad& load, net::Listener& listener)
    : shared_(shared), gate_(gate), load_(load), listener_(listener), info_(describe(listener.address())) {}

void Acceptor::start() { shared_.loop.add(*this, listener_.fd(), EPOLLIN); }

void Acceptor::on_ready(std::uint32_t) {
  for (int taken = 0; taken < kAcceptsPerTurn; ++taken) {
    if (shared_.connections.size() >= shared_.config.max_connections) {
      if (!full_) g_full.add();
      full_ = true;
      step_back(base::Instant::max());
      return;
    }
    if (!gate_.may_accept(shared_.loop.now())) {
      step_back(shared_.loop.now() + AcceptGate::kRetry);
      return;
    }
    switch (take_one()) {
      case Took::One: break;
      case Took::NobodyThere: gate_.nobody_waits(); return;
      case Took::NoDescriptor: step_back(shared_.loop.now() + kExhaustedPause); return;
    }
  }
}

Acceptor::Took Acceptor::take_one() {
  for (;;) {
    net::Accepted accepted = net::accept_one(listener_.fd());
    switch (accepted.what) {
      case net::Accepted::What::Socket: {
        g_accepted.add();
        const base::SlotHandle handle = shared_.connections.emplace(
            shared_, std::make_unique<net::TcpTransport>(std::move(accepted.socket)), to_peer(accepted.peer), info_);
        static_cast<void>(shared_.connections.find(handle)->open(handle));
        load_.connections.store(static_cast<std::uint32_t>(shared_.connections.size()), std::memory_order_relaxed);
        return Took::One;
      }
      case net::Accepted::What::PeerGone: continue;
      case net::Accepted::What::WouldBlock: return Took::NobodyThere;
      case net::Accepted::What::Exhausted:
        g_exhausted.add();
        if (shared_.loop.now() >= next_report_) {
          next_report_ = shared_.loop.now() + kReportEvery;
          base::log::warning("no more clients for a moment: {}", strerror(accepted.error));
        }
        return Took::NoDescriptor;
      case net::Accepted::What::Broken:
        base::log::error("the listener failed: {}", strerror(accepted.error));
        return Took::NoDescriptor;
    }
  }
}

void Acceptor::step_back(base::Instant until) {
  resume_at_ = until;
  shared_.loop.want(*this, 0);
  shared_.timer_wanted(until);
}

base::Instant Acceptor::resume(base::Instant now) {
  if (full_ || resume_at_ == base::Instant::max()) return base::Instant::max();
  if (now < resume_at_) return resume_at_;
  resume_at_ = base::Instant::max();
  shared_.loop.want(*this, EPOLLIN);
  return base::Instant::max();
}

void Acceptor::room() {
  if (!full_ || shared_.stopping) return;
  full_ = false;
  resume_at_ = base::Instant::max();
  shared_.loop.want(*this, EPOLLIN);
}

void Acceptor::finish() {
  while (shared_.connections.size() < shared_.config.max_connections && take_one() == Took::One) {
  }
  shared_.loop.remove(*this);
  listener_.close();
}

}  // namespace m0::server
