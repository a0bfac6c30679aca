#pragma once
// A held client: a place in the log in place of a queue, and what it is told besides events.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "m0/base/intrusive_list.hpp"
#include "m0/held/common.hpp"
#include "m0/held/inbox.hpp"
#include "m0/held/wire.hpp"
#include "m0/pubsub/control.hpp"
#include "m0/pubsub/hub.hpp"

namespace m0::held {

/// What the application has for one client alone, or does with it.
struct Order {
  std::uint64_t seq;  // of its record: what was published before it comes first
  pubsub::Verb verb;  // Send, CloseConnection or CloseChannel
  bool binary;
  std::string data;
};

/// The loop. Its connection owns it.
class Client : public pubsub::Subscriber, public base::ListNode<DueTag>, private Correspondent {
 public:
  /// Seconds of the registry's clock.
  struct Times {
    std::uint32_t keep_alive_every;
    std::uint32_t keep_alive_at;
    std::uint32_t leave_at;  // 0: never
  };
  ~Client() override;

  /// `first` goes out before any event.
  void open(std::string first, std::span<const std::string_view> channels, std::uint64_t cursor);
  /// After that: what it says, and what happens to it, goes to the view.
  void open_inbox(Mailroom& room, const handler::Exchange& handshake, const handler::Hold& hold);

  /// The socket takes more.
  void writable() noexcept;
  /// Takes bytes that the client sent and returns how many it used; the others it has to be given again. May overwrite
  /// those that it used. Only while it wants input.
  virtual std::size_t receive(std::span<char> bytes) { return bytes.size(); }
  [[nodiscard]] virtual bool wants_input() const noexcept { return false; }
  /// Whether it ever takes any: else its end is all that is looked for.
  [[nodiscard]] virtual bool listens() const noexcept { return false; }

  /// Does what is due. False: nothing more will be.
  [[nodiscard]] bool tick(std::uint32_t now);
  [[nodiscard]] std::uint32_t due() const noexcept;
  /// "Come back", and the end: the server stops, or its time is over. What it has said is answered before.
  void send_away() noexcept;
  /// Carried out when it has got what was published before.
  void give(Order order) noexcept;

  /// The fields that its answer gave it, as lines "M0-Meta-Name: value\r\n".
  [[nodiscard]] virtual std::string_view metadata() const noexcept = 0;
  [[nodiscard]] std::uint64_t serial() const noexcept { return serial_; }

  // pubsub::Subscriber
  [[nodiscard]] pubsub::Taken take(std::string_view bytes) noexcept override;
  void interrupted() noexcept override;
  void at_barrier() noexcept override;

 protected:
  Client(Common& common, Wire& wire, const pubsub::Encoding& encoding, const Times& times, std::uint64_t serial);

  /// Appends the sign of life to `out`, or nothing. False: it has been silent for too long.
  [[nodiscard]] virtual bool sign_of_life(std::string& out) = 0;
  /// The same for a message to it alone.
  virtual void append_message(std::string& out, std::string_view data, bool binary) const = 0;
  virtual void leave_for_now() noexcept = 0;
  virtual void dismiss(const pubsub::Farewell& farewell) noexcept = 0;

  /// Sends bytes of its own as soon as no frame is in the middle. More than kMostOwn that the socket does not take end
  /// the connection, unless it is one frame alone.
  void say(std::string_view bytes) noexcept;
  /// Sends them if little else waits: an answer that a peer which does not read can do without.
  void say_lightly(std::string_view bytes) noexcept;
  /// The same, and then the end: nothing else is sent any more. A client that does not take it within kFarewellTime is
  /// cut.
  void say_last(std::string_view bytes) noexcept;
  void end(Ending how) noexcept;
  /// What its view is told that it ended with.
  void set_close_code(std::uint16_t code) noexcept { close_code_ = code; }

  [[nodiscard]] bool over() const noexcept { return over_; }
  [[nodiscard]] bool leaving() const noexcept { return leaving_; }
  [[nodiscard]] bool resting() const noexcept { return !mid_frame() && own_.empty() && !full_; }
  /// Null: nothing of it goes to a view.
  [[nodiscard]] Inbox* inbox() const noexcept { return inbox_; }
  /// It leaves when its messages are answered, and says nothing new.
  [[nodiscard]] bool goes_when_idle() const noexcept { return goes_when_idle_; }

  static constexpr std::size_t kMostOwn = std::size_t{4} * 1024 * 1024;
  static constexpr std::size_t kMostLight = 4096;
  static constexpr std::uint32_t kFarewellTime = 10;  // seconds

  Common& common_;

 private:
  /// What waits for a moment between two frames, or for those before it.
  struct Waiting {
    std::deque<Order> orders;
    std::size_t order_bytes = 0;
    std::vector<std::string> channels;  // to have in place of its own; none: it keeps them
    std::uint64_t position = 0;         // and from where
  };

  // Correspondent
  [[nodiscard]] bool take_answer(const Answer& answer) override;
  void may_speak() override { wire_.read_on(); }
  void append_channels(std::string& out) const override;

  /// False: the socket is full, or gone. Not while a frame is in the middle.
  [[nodiscard]] bool flush_own() noexcept;
  void carry_out(const Order& order) noexcept;
  /// No frame is in the middle now.
  void settle_channels() noexcept;
  void answered() noexcept;
  Waiting& waiting();

  Wire& wire_;
  const pubsub::Encoding& encoding_;
  std::string own_;  // not an event's, and to be sent before the next
  Inbox* inbox_ = nullptr;
  std::unique_ptr<Waiting> waiting_;
  std::uint64_t serial_;
  Times times_;
  std::uint16_t close_code_;
  bool full_ : 1 = false;     // the socket, when it was last written to
  bool leaving_ : 1 = false;  // own_ is the last that it gets
  bool goes_when_idle_ : 1 = false;
  bool over_ : 1 = false;
  bool owes_answer_ : 1 = false;  // its inbox waits until own_ is out
};

}  // namespace m0::held
