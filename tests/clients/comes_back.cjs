// The npm package reconnecting-websocket: a line for each time it is opened and answered.
"use strict";
const WebSocket = require("ws");
const ReconnectingWebSocket = require("reconnecting-websocket");
const socket = new ReconnectingWebSocket(process.argv[2], [], {
  WebSocket, minReconnectionDelay: 20, maxReconnectionDelay: 100, minUptime: 0,
});
socket.addEventListener("open", () => socket.send("still there?"));
socket.addEventListener("message", (event) => console.log(event.data));
socket.addEventListener("close", (event) => console.log("closed " + event.code));
