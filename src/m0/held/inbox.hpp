#pragma once
// What one held client says: each message becomes a POST to the path that held it, in order, one at a time.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "m0/base/intrusive_list.hpp"
#include "m0/base/slot_map.hpp"
#include "m0/handler/hold.hpp"
#include "m0/handler/post_office.hpp"

namespace m0::held {

class Mailroom;
struct QueueTag;
struct UnreadTag;

/// What a view answered to a message.
struct Answer {
  std::optional<std::string> frame;  // to be sent
  bool binary = false;
  std::optional<std::vector<std::string>> channels;  // in place of those that it had
  std::uint64_t position = 0;                        // of the log, when the message was posted
  std::optional<handler::CloseWish> close;
};

/// Who speaks: the held client. The loop.
class Correspondent {
 public:
  /// False: it calls Inbox::answer_taken() when it has sent it and done what it says, and until then no other message
  /// is posted.
  [[nodiscard]] virtual bool take_answer(const Answer& answer) = 0;
  /// The inbox has room again.
  virtual void may_speak() = 0;
  /// Appends the value of M0-Channel.
  virtual void append_channels(std::string& out) const = 0;

 protected:
  ~Correspondent() = default;
};

/// The loop. A Mailroom owns it.
class Inbox final : public handler::ExchangeOwner, public base::ListNode<QueueTag>, public base::ListNode<UnreadTag> {
 public:
  enum class Kind : std::uint8_t { Open, Text, Binary, Close };
  static constexpr std::size_t kMostWaiting = 16;

  /// `handshake`: its path and fields come with each message, but for those that are about its connection.
  Inbox(Mailroom& room, Correspondent& client, const handler::Exchange& handshake, const handler::Hold& hold);
  ~Inbox() = default;

  void add(Kind kind, std::string_view payload) { push({kind, 0, std::string(payload)}); }
  /// Whether another message may be added: else the client is not to be read until may_speak().
  [[nodiscard]] bool has_room() noexcept;
  /// Something waits, or is with its view.
  [[nodiscard]] bool busy() const noexcept { return !waiting_.empty(); }
  /// Its connection has ended, with this close code: what waits is still said, and then that, if it is wanted.
  void client_gone(std::uint16_t code);
  /// What waits is not said: the server has ended the conversation.
  void discard_waiting() noexcept;
  void answer_taken();

  /// Lines "M0-Meta-Name: value\r\n".
  [[nodiscard]] std::string_view metadata() const noexcept {
    return std::string_view(head_).substr(head_.size() - metadata_size_);
  }

  // handler::ExchangeOwner
  void on_notice(handler::Exchange& exchange, handler::Exchange::Seen seen) override;

 private:
  friend class Mailroom;
  struct Message {
    Kind kind;
    std::uint16_t code;  // of Close
    std::string payload;
  };

  void push(Message message);
  void pop() noexcept;
  /// Posts what it can.
  void pump();
  void let_speak() {
    if (client_ != nullptr) client_->may_speak();
  }
  [[nodiscard]] std::string_view path() const noexcept { return std::string_view(head_).substr(kPathAt, path_size_); }
  /// The first message as a request. False: there is no room for its body.
  [[nodiscard]] bool write_request(handler::Exchange& exchange);

  void gather(handler::Exchange& exchange);
  void finish(handler::Exchange& exchange);
  /// What its view answered, or an error that closes the connection.
  [[nodiscard]] Answer judge(handler::Exchange& exchange);
  /// Nothing, and a line in the log: it is no body that a frame could be made of.
  [[nodiscard]] std::optional<std::string> take_body(handler::Exchange& exchange);
  void report(const handler::Exchange& exchange, std::string_view what) const;

  static constexpr std::size_t kPathAt = 5;  // "POST "

  Mailroom& room_;
  Correspondent* client_;  // null: gone
  handler::Exchange* with_view_ = nullptr;
  std::string head_;           // of each POST: its request line and the fields that stay the same, the metadata last
  std::string last_channels_;  // of a client that is gone
  std::string gathered_;       // of an answer that comes piece by piece
  std::vector<Message> waiting_;
  const handler::ListenerInfo* listener_;
  handler::PeerAddress peer_;
  pubsub::ConnectionId id_;
  base::SlotHandle handle_;
  std::uint32_t metadata_size_;
  std::uint32_t path_size_ = 0;
  bool wants_close_ : 1;
  bool too_big_ : 1 = false;        // the answer that is gathered
  bool taking_answer_ : 1 = false;  // the client has not come to the last answer yet
};

}  // namespace m0::held
