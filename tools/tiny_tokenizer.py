"""A small byte-level BPE tokenizer, learnt from a text: 256 byte tokens, some merges, the special tokens of a family.

Made for the tiny random models of the tests, so that they can be used like real ones: text in, text out.
"""

import collections
import dataclasses
import re

# The pre-tokenizers' rule restricted to ASCII, which is all that the text to learn from has.
_PIECES = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
    "'\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
LLAMA3 = (
    "{% for message in messages %}{{ (bos_token if loop.first else '') + '<|start_header_id|>' + message['role'] + "
    "'<|end_header_id|>\\n\\n' + message['content'] | trim + '<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"
)

# What Hugging Face's tokenizer.json says for each pre-tokenizer, after a Split by this pattern.
_PATTERNS = {
    "llama-bpe": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    "qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
}


@dataclasses.dataclass(frozen=True)
class Family:
    pre: str  # GGUF's name of the pre-tokenizer
    specials: tuple
    specials_first: bool  # before the byte tokens (SmolLM2) or after the merges (Llama 3, Qwen)
    bos: str | None
    ends: tuple  # the first one is the eos token
    template: str


SMOLLM = Family("smollm", ("<|endoftext|>", "<|im_start|>", "<|im_end|>"), True, "<|im_start|>",
                ("<|im_end|>", "<|endoftext|>"), CHATML)
LLAMA = Family("llama-bpe", ("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>",
                             "<|eot_id|>"), False, "<|begin_of_text|>", ("<|eot_id|>", "<|end_of_text|>"), LLAMA3)
QWEN = Family("qwen2", ("<|endoftext|>", "<|im_start|>", "<|im_end|>"), False, None,
              ("<|im_end|>", "<|endoftext|>"), CHATML)


def byte_symbols():
    """GPT-2's printable stand-in for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    symbols, extra = {}, 256
    for byte in range(256):
        if byte in printable:
            symbols[byte] = chr(byte)
        else:
            symbols[byte] = chr(extra)
            extra += 1
    return symbols


def _merge(piece, pair):
    merged, i = [], 0
    while i < len(piece):
        if i + 1 < len(piece) and (piece[i], piece[i + 1]) == pair:
            merged.append(piece[i] + piece[i + 1])
            i += 2
        else:
            merged.append(piece[i])
            i += 1
    return tuple(merged)


def learn_merges(text, count):
    """The `count` most frequent pairs, one after another; of equally frequent ones the first in code point order."""
    symbols = byte_symbols()
    pieces = collections.Counter(tuple(symbols[b] for b in piece.encode()) for piece in _PIECES.findall(text))
    merges = []
    for _ in range(count):
        pairs = collections.Counter()
        for piece, times in pieces.items():
            for pair in zip(piece, piece[1:]):
                pairs[pair] += times
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        joined = collections.Counter()
        for piece, times in pieces.items():
            joined[_merge(piece, best)] += times
        pieces = joined
    return merges


class Tokenizer:
    """`size` tokens of a family; ids are positions in `tokens`. `padding` more rows of the embedding have no token."""

    def __init__(self, family, text, size, padding=0):
        self.family = family
        self.padding = padding
        self.merges = learn_merges(text, size - 256 - len(family.specials))
        plain = [byte_symbols()[b] for b in range(256)] + [left + right for left, right in self.merges]
        specials = list(family.specials)
        self.tokens = specials + plain if family.specials_first else plain + specials
        assert len(self.tokens) == size and len(set(self.tokens)) == size

    @property
    def rows(self):
        return len(self.tokens) + self.padding

    def id(self, token):
        return self.tokens.index(token)

    def end_ids(self):
        return [self.id(token) for token in self.family.ends]

    def write_gguf(self, writer, types):
        """Adds the tokenizer's keys; `types` are gguf.TokenType."""
        padding = [f"[PAD{i}]" for i in range(self.padding)]
        kinds = [types.CONTROL if token in self.family.specials else types.NORMAL for token in self.tokens]
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(self.family.pre)
        writer.add_token_list(self.tokens + padding)
        writer.add_token_types(kinds + [types.UNUSED] * self.padding)
        writer.add_token_merges([f"{left} {right}" for left, right in self.merges])
        if self.family.bos:
            writer.add_bos_token_id(self.id(self.family.bos))
        writer.add_eos_token_id(self.end_ids()[0])
        writer.add_add_bos_token(self.family.pre == "llama-bpe")
        writer.add_chat_template(self.family.template)

    def tokenizer_json(self):
        """The document of Hugging Face's tokenizer.json."""
        added = [{"id": self.id(token), "content": token, "single_word": False, "lstrip": False, "rstrip": False,
                  "normalized": False, "special": True} for token in self.family.specials]
        split = {"type": "Split", "pattern": {"Regex": _PATTERNS[self.family.pre]}, "behavior": "Isolated",
                 "invert": False}
        byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
        post = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
        if self.family.pre == "llama-bpe":
            bos = self.family.bos
            sequence = {"Sequence": {"id": "A", "type_id": 0}}
            post = {"type": "TemplateProcessing",
                    "single": [{"SpecialToken": {"id": bos, "type_id": 0}}, sequence],
                    "pair": [{"SpecialToken": {"id": bos, "type_id": 0}}, sequence,
                             {"Sequence": {"id": "B", "type_id": 1}}],
                    "special_tokens": {bos: {"id": bos, "ids": [self.id(bos)], "tokens": [bos]}}}
        return {
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": {"type": "NFC"} if self.family.pre == "qwen2" else None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
            "post_processor": post,
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                      "ignore_merges": self.family.pre == "llama-bpe",
                      "vocab": {token: i for i, token in enumerate(self.tokens) if token not in self.family.specials},
                      "merges": [[left, right] for left, right in self.merges]},
        }
