#!/usr/bin/env python3
"""200 clients, 2,000 requests, a third of them given up at a random moment.

    BATON_BUILD_DIR=build/release python3 tests/http/load_test.py [--clients N] [--requests N] [-- serve arguments]

Every request that is not given up gets exactly one end: a finish reason or an error with its status. Afterwards the
server holds nothing: no open request, no queue entry, no leased or quarantined page; and it drains with exit code 0.
"""

import argparse
import asyncio
import collections
import json
import random
import sys
import time

import served


class Client:
    def __init__(self, port, seed, tally):
        self.port = port
        self.random = random.Random(seed)
        self.tally = tally

    def body(self):
        pick = self.random
        body = {
            "prompt": [pick.randrange(1, 250) for _ in range(pick.randint(1, 300))],
            "max_tokens": pick.randint(1, 60),
            "temperature": pick.choice([0, 0.8]),
            "seed": pick.randrange(1 << 30),
            "ignore_eos": True,
            "stream": pick.random() < 0.6,
        }
        if pick.random() < 0.1:
            body["n"] = 2
        return body

    async def ask(self):
        body = self.body()
        gives_up = self.random.random() < 1 / 3
        if gives_up:
            body.update(stream=True, max_tokens=600)  # so that there is something to give up
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            data = json.dumps(body).encode()
            writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n"
                         b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data))
            if gives_up:
                await self.lose_patience(reader)
                writer.transport.abort()
                self.tally["given up"] += 1
                return
            self.judge(body, await asyncio.wait_for(reader.read(-1), 300))
        finally:
            writer.close()

    async def lose_patience(self, reader):
        """Waits for a random moment of the request's life: its queues (a short time) or a number of its tokens."""
        if self.random.random() < 0.5:
            await asyncio.sleep(self.random.random() ** 2 * 0.2)
            return
        for _ in range(self.random.randint(1, 400)):
            line = await asyncio.wait_for(reader.readline(), 300)
            if not line:
                return  # refused, or over

    def judge(self, body, raw):
        head, _, rest = raw.partition(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        if status != 200:
            assert status in (429, 503), (status, rest)
            self.tally[f"refused with {status}"] += 1
            return
        ends = finishes(body, head, rest)
        assert len(ends) == body.get("n", 1) and all(end == "length" for end in ends), (body, ends, raw[-600:])
        self.tally["finished"] += 1


def finishes(body, head, rest):
    """The finish reasons of an answer, after checking its frame."""
    if b"chunked" in head.lower():
        rest = unchunk(rest)
    if not body["stream"]:
        return [choice["finish_reason"] for choice in json.loads(rest)["choices"]]
    events = [line[6:] for line in rest.decode().split("\n") if line.startswith("data: ")]
    assert events[-1] == "[DONE]" and events.count("[DONE]") == 1, events[-2:]
    reasons = [choice["finish_reason"] for event in events[:-1] for choice in json.loads(event)["choices"]]
    return [reason for reason in reasons if reason is not None]


def unchunk(data):
    text = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        if length == 0:
            break
        text, data = text + data[:length], data[length + 2:]
    return text


async def load(port, clients, requests):
    tally = collections.Counter()

    async def one(index):
        client = Client(port, index, tally)
        for _ in range(requests // clients):
            await client.ask()

    await asyncio.gather(*(one(index) for index in range(clients)))
    return tally


def run(arguments, serve_arguments):
    with served.serving(*serve_arguments) as server:
        begin = time.monotonic()
        tally = asyncio.run(load(server.port, arguments.clients, arguments.requests))
        took = time.monotonic() - begin
        for _ in range(200):
            held = server.held()
            if not held:
                break
            time.sleep(0.05)
        assert not held, f"at rest the server still holds {held}"
        total = sum(tally.values())
        assert total == arguments.requests // arguments.clients * arguments.clients, tally
        assert tally["finished"] > total / 2 and tally["given up"] > total / 4, tally
        code = server.drain()
        assert code == 0, f"the server ended with {code}"
        print(f"{total} requests in {took:.1f} s: {dict(tally)}; nothing held at rest ({' '.join(serve_arguments)})")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--requests", type=int, default=2000)
    own, rest = sys.argv[1:], []
    if "--" in own:
        own, rest = own[:own.index("--")], own[own.index("--") + 1:]
    arguments = parser.parse_args(own)
    if rest:
        run(arguments, rest)
        return
    run(arguments, ["--prefill", "2", "--decode", "2", "--kv-tokens", "6000", "--max-queue", "1000"])
    arguments.requests //= 4
    run(arguments, ["--prefill", "1", "--decode", "3", "--kv-tokens", "2000", "--transport", "inmemory-copy",
                    "--max-queue", "1000", "--page-size", "1"])


if __name__ == "__main__":
    main()
