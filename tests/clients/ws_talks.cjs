// The npm package ws as a client of the mirror: each thing it did is a line, for tests/test_websocket_clients.py.
"use strict";
const WebSocket = require("ws");
const base = process.argv[2];

const opened = (path, options) =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(base + path, options);
    socket.once("open", () => resolve(socket));
    socket.once("unexpected-response", (request, answer) => reject(new Error("status " + answer.statusCode)));
    socket.once("error", reject);
  });
const next = (socket) =>
  new Promise((resolve) => socket.once("message", (data, binary) => resolve({ data: data.toString("latin1"), binary })));
const ended = (socket) =>
  new Promise((resolve) => socket.once("close", (code, reason) => resolve(code + " " + reason.toString())));
const say = (what, value) => console.log(what + ": " + value);

async function main() {
  for (const deflate of [true, false]) {
    const socket = await opened("/", { perMessageDeflate: deflate });
    say("extensions", socket.extensions || "none");
    let answer = next(socket);
    socket.send("hello ".repeat(100));
    say("text", (await answer).data.length);
    answer = next(socket);
    socket.send(Buffer.alloc(200000, 7));
    const got = await answer;
    say("binary", got.data.length + " " + got.binary);
    answer = next(socket);
    socket.send("frag", { fin: false });
    socket.send("ments", { fin: true });
    say("fragments", (await answer).data);
    const pong = new Promise((resolve) => socket.once("pong", (data) => resolve(data.toString())));
    socket.ping("are you there");
    say("pong", await pong);
    const close = ended(socket);
    socket.close(4001, "had enough");
    say("closed", await close);
  }
  const socket = await opened("/?close=4002%20by%20the%20view", {});
  const close = ended(socket);
  socket.send("bye");
  say("closed", await close);
  const chosen = new WebSocket(base + "/?subprotocol=b", ["a", "b"]);
  await new Promise((resolve) => chosen.once("open", resolve));
  say("subprotocol", chosen.protocol);
  const large = ended(chosen);
  chosen.send(Buffer.alloc(1100000));
  say("too big", await large);
  await opened("/", { origin: "https://evil.example" }).catch((error) => say("refused", error.message));
}

main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
