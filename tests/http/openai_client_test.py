#!/usr/bin/env python3
"""The OpenAI Python client, unmodified, against a running baton.

    tools/python_env --run tests/http/openai_client_test.py --url http://127.0.0.1:8000

Checks what the API promises, whatever model is served and however good it is: shapes, counts, that a stream says what
the whole answer says, and that errors arrive as the client's exceptions. Exits with 1 if anything is wrong.
"""

import argparse
import asyncio
import http.client
import json
import os
import sys
import traceback
import urllib.parse

import openai

MESSAGES = [{"role": "user", "content": "Name three colours."}]
PROMPT = "The quick brown fox"
EXACT = {"ignore_eos": True}  # baton's extension: the model's own end does not count, so lengths are known


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(part) for part in what) or "not as expected")


class Server:
    """The server under test, through the client and, for what the client hides, through plain HTTP."""

    def __init__(self, url):
        self.url = url.rstrip("/")
        self.client = openai.OpenAI(base_url=self.url + "/v1", api_key="unused", max_retries=0, timeout=120)
        self.model = self.client.models.list().data[0].id

    def async_client(self):
        return openai.AsyncOpenAI(base_url=self.url + "/v1", api_key="unused", max_retries=0, timeout=120)

    def complete(self, prompt=PROMPT, **options):
        options.setdefault("temperature", 0)
        options.setdefault("max_tokens", 12)
        return self.client.completions.create(model=self.model, prompt=prompt, **options)

    def chat(self, **options):
        options.setdefault("temperature", 0)
        options.setdefault("max_tokens", 12)
        return self.client.chat.completions.create(model=self.model, messages=MESSAGES, **options)

    def request(self, method, path, body=None):
        """(status, headers, text) of one plain request."""
        place = urllib.parse.urlsplit(self.url)
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=120)
        try:
            connection.request(method, path, None if body is None else json.dumps(body),
                               {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode("utf-8")
        finally:
            connection.close()


def check_usage(usage, at_most):
    check(usage.prompt_tokens >= 1)
    check(0 <= usage.completion_tokens <= at_most, usage)
    check(usage.total_tokens == usage.prompt_tokens + usage.completion_tokens, usage)
    check(0 <= usage.prompt_tokens_details.cached_tokens <= usage.prompt_tokens, usage)


def test_models(server):
    card = server.client.models.retrieve(server.model)
    check(card.object == "model" and card.id == server.model, card)
    check(card.max_model_len > 0, card)


def test_completion(server):
    answer = server.complete()
    check(answer.object == "text_completion", answer)
    check(answer.id.startswith("cmpl-"), answer.id)
    check(answer.model == server.model)
    check(len(answer.choices) == 1 and answer.choices[0].index == 0)
    check(answer.choices[0].finish_reason in ("stop", "length"))
    check_usage(answer.usage, 12)


def same_counts(a, b):
    """But for what was found in the cache, which the same question asked again finds."""
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    return all(getattr(a, name) == getattr(b, name) for name in names)


def test_completion_stream_says_the_same(server):
    whole = server.complete()
    chunks = list(server.complete(stream=True, stream_options={"include_usage": True}))
    check(all(len(chunk.choices) == 1 for chunk in chunks[:-1]), "choices of every chunk but the last")
    check(chunks[-1].choices == [] and same_counts(chunks[-1].usage, whole.usage), chunks[-1].usage, whole.usage)
    check("".join(chunk.choices[0].text for chunk in chunks[:-1]) == whole.choices[0].text)
    check(all(chunk.choices[0].text for chunk in chunks[:-2]), "a chunk before the last is empty")
    check(chunks[-2].choices[0].finish_reason == whole.choices[0].finish_reason)
    check(len({chunk.id for chunk in chunks}) == 1)


def test_chat(server):
    answer = server.chat()
    check(answer.object == "chat.completion" and answer.id.startswith("chatcmpl-"), answer)
    check(answer.choices[0].message.role == "assistant")
    check(isinstance(answer.choices[0].message.content, str))
    check_usage(answer.usage, 12)


def test_chat_stream_says_the_same(server):
    whole = server.chat()
    chunks = list(server.chat(stream=True, stream_options={"include_usage": True}))
    check(chunks[0].choices[0].delta.role == "assistant", "no role in the first chunk")
    check(all(chunk.choices[0].delta.role is None for chunk in chunks[1:-1]))
    check("".join(chunk.choices[0].delta.content for chunk in chunks[:-1]) == whole.choices[0].message.content)
    check(chunks[-2].choices[0].finish_reason == whole.choices[0].finish_reason)
    check(chunks[-1].choices == [] and same_counts(chunks[-1].usage, whole.usage), chunks[-1].usage, whole.usage)
    without = list(server.chat(stream=True))
    check(all(chunk.choices and chunk.usage is None for chunk in without), "usage that nobody asked for")


def test_chat_content_parts_and_newer_limit(server):
    parts = [{"role": "system", "content": "Be short."},
             {"role": "user", "content": [{"type": "text", "text": "Name three "}, {"type": "text", "text": "pets."}]}]
    answer = server.client.chat.completions.create(model=server.model, messages=parts, max_completion_tokens=3,
                                                   extra_body=EXACT)
    check(answer.usage.completion_tokens == 3 and answer.choices[0].finish_reason == "length", answer)


def test_completion_logprobs(server):
    answer = server.complete(logprobs=3, extra_body=EXACT)
    logprobs = answer.choices[0].logprobs
    check(len(logprobs.tokens) == 12 == len(logprobs.token_logprobs) == len(logprobs.top_logprobs), logprobs)
    for token, logprob, top in zip(logprobs.tokens, logprobs.token_logprobs, logprobs.top_logprobs):
        check(logprob <= 0 and 1 <= len(top) <= 4, logprob, top)
        check(top[token] == logprob == max(top.values()), "greedy takes the likeliest:", token, top)
    check(logprobs.text_offset[0] == 0 and logprobs.text_offset == sorted(logprobs.text_offset))


def test_chat_logprobs(server):
    whole = server.chat(logprobs=True, top_logprobs=2, extra_body=EXACT)
    content = whole.choices[0].logprobs.content
    check(len(content) == 12, content)
    for entry in content:
        check(entry.logprob <= 0 and len(entry.top_logprobs) == 2, entry)
        check(entry.top_logprobs[0].logprob >= entry.top_logprobs[1].logprob, entry)
        check(entry.top_logprobs[0].bytes == entry.bytes, entry)
    text = bytes(byte for entry in content for byte in entry.bytes).decode("utf-8", "replace")
    check(text == whole.choices[0].message.content, text, whole.choices[0].message.content)
    chunks = list(server.chat(logprobs=True, top_logprobs=2, stream=True, extra_body=EXACT))
    streamed = [entry for chunk in chunks if chunk.choices[0].logprobs for entry in chunk.choices[0].logprobs.content]
    check(streamed == content, "streamed log-probabilities differ")


def test_samples(server):
    options = {"n": 3, "temperature": 1, "seed": 7}
    answer = server.complete(**options)
    check([choice.index for choice in answer.choices] == [0, 1, 2])
    again = server.complete(**options)
    texts = [choice.text for choice in answer.choices]
    check(texts == [choice.text for choice in again.choices], "the same seed gave other texts")
    streamed, ends = ["", "", ""], [None, None, None]
    for chunk in server.complete(stream=True, **options):
        choice = chunk.choices[0]
        streamed[choice.index] += choice.text
        ends[choice.index] = choice.finish_reason or ends[choice.index]
    check(streamed == texts, streamed, texts)
    check(all(ends), ends)


def test_batch(server):
    single = server.complete().choices[0].text
    status, _, text = server.request("POST", "/tokenize", {"prompt": PROMPT})
    check(status == 200, text)
    ids = json.loads(text)["tokens"]
    answer = server.complete(prompt=[PROMPT, PROMPT])
    check([choice.text for choice in answer.choices] == [single, single], "two strings")
    answer = server.complete(prompt=[ids, ids], n=1)
    check([choice.text for choice in answer.choices] == [single, single], "two lists of ids")
    check(server.complete(prompt=ids).choices[0].text == single, "one list of ids")


def test_stop(server):
    free = server.complete(max_tokens=24, extra_body=EXACT).choices[0].text
    check(len(free) >= 4, repr(free))
    stop = free[len(free) // 2:len(free) // 2 + 2]
    expected = free[:free.index(stop)]
    whole = server.complete(max_tokens=24, stop=[stop, "never in the text"], extra_body=EXACT)
    check(whole.choices[0].text == expected, repr(whole.choices[0].text), repr(expected))
    check(whole.choices[0].finish_reason == "stop" and whole.choices[0].stop_reason == stop, whole)
    chunks = list(server.complete(max_tokens=24, stop=stop, stream=True, extra_body=EXACT))
    check("".join(chunk.choices[0].text for chunk in chunks) == expected, "the stream shows the stop string")
    kept = server.complete(max_tokens=24, stop=stop, extra_body=EXACT | {"include_stop_str_in_output": True})
    check(kept.choices[0].text == expected + stop, kept)


def test_echo_and_extensions(server):
    check(server.complete(echo=True).choices[0].text.startswith(PROMPT))
    answer = server.complete(extra_body=EXACT | {"return_token_ids": True, "return_timeline": True})
    check(len(answer.choices[0].token_ids) == 12, answer)
    timeline = answer.choices[0].timeline
    check(abs(sum(timeline["stages"].values()) - timeline["total"]) < 1e-6, timeline)


def test_errors(server):
    def refused(kind, param, part, **options):
        try:
            server.complete(**options)
        except kind as error:
            check(error.param == param, error.param, param)
            check(part in error.message, error.message)
            check(error.code == str(error.status_code) or error.code == error.status_code, error.code)
            return
        raise AssertionError(f"not refused: {options}")

    refused(openai.BadRequestError, "temperature", "-1", temperature=-1)
    refused(openai.BadRequestError, "top_p", "2", top_p=2)
    refused(openai.BadRequestError, "max_tokens", "0", max_tokens=0)
    refused(openai.BadRequestError, "n", "100000", n=100000)
    refused(openai.BadRequestError, "n", "-1", n=-1, stream=True)
    context = server.client.models.retrieve(server.model).max_model_len
    refused(openai.BadRequestError, "max_tokens", f"maximum context length is {context}", max_tokens=context)
    refused(openai.BadRequestError, "prompt", f"maximum context length is {context}", prompt="a " * context)
    try:
        server.client.completions.create(model="no/such-model", prompt="x")
        raise AssertionError("a model that is not there answered")
    except openai.NotFoundError as error:
        check("no/such-model" in error.message and error.body["type"] == "NotFoundError", error)
    for body in ("{", "[]", '{"prompt":1}'):
        place = urllib.parse.urlsplit(server.url)
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=30)
        connection.request("POST", "/v1/completions", body)
        response = connection.getresponse()
        check(response.status == 400 and "error" in json.loads(response.read()), body)
        connection.close()


def test_wire(server):
    body = {"messages": MESSAGES, "stream": True, "max_tokens": 4}  # no model: the one served
    status, headers, text = server.request("POST", "/v1/chat/completions", body)
    check(status == 200 and headers["Content-Type"] == "text/event-stream", status, headers)
    events = text.split("\n\n")
    check(events[-1] == "" and events[-2] == "data: [DONE]", events[-2:])
    for event in events[:-2]:
        check(event.startswith("data: {") and "\n" not in event, event)
        check(json.loads(event[6:])["choices"], event)


def test_request_ids(server):
    raw = server.client.completions.with_raw_response.create(
        model=server.model, prompt="x", max_tokens=1, extra_headers={"X-Request-Id": "my-id.1"})
    check(raw.headers["x-request-id"] == "my-id.1", raw.headers)
    check(server.complete(max_tokens=1)._request_id, "no id of the server's own")


def test_probes(server):
    for path in ("/health", "/health_generate", "/version", "/ping"):
        check(server.request("GET", path)[0] == 200, path)
    status, headers, text = server.request("GET", "/metrics")
    check(status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4"), headers)
    check('baton_http_requests_total{endpoint="/v1/completions",status="200"}' in text)
    for name in ("", "/v1"):
        ids = json.loads(server.request("POST", f"{name}/tokenize", {"prompt": "a b"})[2])["tokens"]
        text = json.loads(server.request("POST", f"{name}/detokenize", {"tokens": ids})[2])["prompt"]
        check(text.endswith("a b"), text)


def test_leaving(server):
    for _ in range(3):
        stream = server.complete(stream=True, max_tokens=200, extra_body=EXACT)
        next(iter(stream))
        stream.close()
    check(server.complete(max_tokens=1).usage.completion_tokens <= 1)


def test_many_at_once(server):
    async def one(client, number):
        stream = await client.chat.completions.create(model=server.model, messages=MESSAGES, stream=True, max_tokens=8,
                                                      temperature=0, n=1 + number % 2)
        ends = 0
        async for chunk in stream:
            ends += sum(choice.finish_reason is not None for choice in chunk.choices)
        return ends

    async def all_of_them():
        client = server.async_client()
        try:
            return await asyncio.gather(*(one(client, number) for number in range(8)))
        finally:
            await client.close()

    check(asyncio.run(all_of_them()) == [1, 2] * 4, "every sample has one end")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", default=os.environ.get("BATON_URL"), help="default: $BATON_URL")
    parser.add_argument("--only", default="", help="run only the tests with this in their name")
    arguments = parser.parse_args()
    if not arguments.url:
        parser.error("give --url or set BATON_URL")
    server = Server(arguments.url)
    failures = 0
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_") and arguments.only in name]
    for name, test in tests:
        try:
            test(server)
            print(f"ok    {name}")
        except Exception:  # every test is to be run, whatever the others do
            failures += 1
            print(f"FAIL  {name}")
            traceback.print_exc(file=sys.stdout)
    print(f"{len(tests) - failures} of {len(tests)} passed")
    return 1 if failures or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
