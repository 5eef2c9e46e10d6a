// The bounds of the HTTP front end. Every one of them guards something a client could otherwise take without end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/time.h"

namespace baton {

struct HttpConfig {
  std::string host = "127.0.0.1";  // an address or a name; an empty one means every address of the machine
  std::uint16_t port = 8000;       // 0: the system picks one, HttpServer::port() tells which

  std::size_t connections_max = 1024;       // more are answered 503 and closed
  std::size_t header_bytes_max = 16 << 10;  // more is 431
  std::size_t body_bytes_max = 8 << 20;     // more is 413
  // What a client may leave unread of one streamed answer before it is given up; the kernel's buffers come on top.
  std::size_t unsent_bytes_max = 1 << 20;

  // Bigger bodies are parsed and tokenised on a thread of their own, one after the other; smaller ones at once, which
  // takes the server's thread from the streams for a moment.
  std::size_t quick_body_bytes_max = 16 << 10;
  std::size_t waiting_bodies_max = 32;  // big bodies that wait for that thread; more get 429

  Duration header_time_max = std::chrono::seconds(15);  // from a request's first byte to the end of its headers
  Duration body_time_max = std::chrono::seconds(60);    // from there to the end of the body
  Duration idle_time_max = std::chrono::seconds(75);    // between two requests of one connection
  Duration write_time_max = std::chrono::seconds(30);   // without the client taking a byte of what is sent to it
  Duration linger_time_max = std::chrono::seconds(2);   // how long unread input is thrown away before closing

  std::uint32_t samples_max = 128;                             // choices of one request: prompts times n
  Duration retry_after_overload = std::chrono::seconds(1);     // what a 429 tells the client to wait
  Duration retry_after_unavailable = std::chrono::seconds(5);  // what a 503 tells it

  // For the ids of responses and the seeds of requests that bring none. Zero: drawn from the system.
  std::uint64_t random_seed = 0;
};

}  // namespace baton
