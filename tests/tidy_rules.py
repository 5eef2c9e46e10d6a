"""The house rules that a compiler does not check, as pure functions from a file to the problems in it.

Each rule takes a File and yields Problems. tidy_test.py runs all of them over the tree, and each of them over a piece
of text that breaks it. Exceptions are listed here by file, each with its reason; a limit in such a list is a ratchet:
it may only go down.
"""

import dataclasses
import pathlib
import re

# What a folder may include, by path from src/. A folder not named here (tests, tools) may include anything.
ALLOWED_INCLUDES = {
    "src/runtime": ("runtime/",),
    "src/kernels": ("kernels/", "runtime/check.h", "runtime/errors.h", "runtime/ids.h"),
    "src/model/files": ("model/files/", "kernels/", "runtime/"),
    "src/model/text": ("model/text/", "model/files/", "runtime/"),
    "src/model/kv": ("model/kv/", "model/files/", "runtime/"),
    "src/model/engine": ("model/", "kernels/", "runtime/"),
    "src/transport": ("transport/", "model/kv/", "model/text/sampling.h", "runtime/"),
    "src/roles/policy": ("roles/policy/", "runtime/check.h", "runtime/errors.h", "runtime/ids.h", "runtime/mutants.h",
                         "runtime/time.h"),
    "src/roles": ("roles/", "transport/", "model/", "kernels/", "runtime/"),
    "sim": ("sim/", "roles/", "transport/", "model/", "kernels/", "runtime/"),
}

# Which folders may see an outside library that everything else reaches through ours.
LIBRARY_PLACES = {
    "boost/asio": ("src/runtime/", "src/roles/http/", "src/boost/", "sim/sim_context", "sim/sim_clock",
                   "tools/", "tests/"),
    "boost/beast": ("src/roles/http/", "src/boost/", "tests/", "tools/"),
}

# Words that stand for a known mistake, why, and where they are right.
BANNED_WORDS = [
    (r"\bdetached\b", "a detached coroutine outlives its owner and hides its exception; spawn it in a Scope", ()),
    (r"\bco_spawn\b", "only Scope starts coroutines", ("src/runtime/", "tests/support/")),
    (r"\bsteady_timer\b", "all waiting goes through the Context's clock", ("src/runtime/",)),
    (r"\bsystem_clock\b", "wall time jumps and is not virtual; use the Context's clock", (
        "src/runtime/", "src/roles/http/")),
    (r"\bthis_thread::sleep_(for|until)\b", "a real sleep; use the Context's clock", ()),
    (r"\bs?rand\s*\(", "unseeded randomness; use a seeded generator that is passed in", ()),
    (r"\brandom_device\b", "unseeded randomness; seeds come from the configuration", (
        "src/runtime/", "src/roles/http/", "tools/")),
    (r"\bawaitable_operators\b", "&& and || lose results when both sides are ready", ()),
    (r"\busing namespace std\b", "name what you use", ()),
]

LINES_PER_FILE = 400
LONG_FILES = {}  # path: (lines allowed, why one file)

LINES_PER_FUNCTION = 70
LONG_FUNCTIONS = {}  # path: (lines allowed, why one function)

CXX_SUFFIXES = {".h", ".cc", ".cu", ".cuh"}


@dataclasses.dataclass(frozen=True)
class File:
    path: str  # from the root of the tree, with forward slashes
    text: str

    @property
    def suffix(self):
        return pathlib.PurePosixPath(self.path).suffix

    @property
    def is_cxx(self):
        return self.suffix in CXX_SUFFIXES

    def starts_in(self, places):
        return any(self.path.startswith(place) for place in places)


@dataclasses.dataclass(frozen=True)
class Problem:
    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


_TOKENS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
    re.DOTALL)


def without_comments_and_strings(text):
    """The same text, line by line, with comments gone and literals empty."""

    def blank(match):
        piece = match.group(0)
        lines = "\n" * piece.count("\n")
        if piece.startswith(("//", "/*")):
            return " " + lines
        return ("''" if piece.startswith("'") else '""') + lines

    return _TOKENS.sub(blank, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def includes(file):
    """(line, what) of each include; what is '"runtime/ids.h"' or '<vector>'."""
    for number, line in enumerate(file.text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*("[^"]+"|<[^>]+>)', line)
        if match:
            yield number, match.group(1)


def check_layers(file):
    if not file.is_cxx:
        return
    folder = max((name for name in ALLOWED_INCLUDES if file.path.startswith(name + "/")), key=len, default=None)
    if folder is None:
        return
    for number, what in includes(file):
        if what.startswith('"') and not what[1:-1].startswith(ALLOWED_INCLUDES[folder]):
            allowed = ", ".join(ALLOWED_INCLUDES[folder])
            yield Problem(file.path, number, f"{folder} may not include {what}; it may include {allowed}")


def check_libraries(file):
    if not file.is_cxx:
        return
    for number, what in includes(file):
        for library, places in LIBRARY_PLACES.items():
            if what.startswith("<" + library) and not file.starts_in(places):
                yield Problem(file.path, number, f"{what} is for {', '.join(places)}; elsewhere use what they offer")


def check_cuda_includes(file):
    if file.suffix not in {".cu", ".cuh"}:
        return
    for number, what in includes(file):
        if what.startswith("<boost") or (what.startswith('"') and not what.startswith('"kernels/')):
            yield Problem(file.path, number, f"device code sees kernels/, the standard library and CUDA, not {what}")


def check_banned_words(file):
    if not file.is_cxx:
        return
    code = without_comments_and_strings(file.text)
    for pattern, why, places in BANNED_WORDS:
        if file.starts_in(places):
            continue
        for match in re.finditer(pattern, code):
            yield Problem(file.path, line_of(code, match.start()), f"{match.group(0).strip()}: {why}")


def check_markers(file):
    # Put together here so that this file is clean itself.
    for word in ("TO" + "DO", "FIX" + "ME"):
        for match in re.finditer(rf"\b{word}\b", file.text):
            yield Problem(file.path, line_of(file.text, match.start()), f"{word}: do it, or file it, but not here")


def check_place_names(file):
    """The tree speaks of the project alone, not of the machine or the people it was written by."""
    for pattern in ("/wo" + "rk/", "/fa" + "rm/", "/tmp/te" + "am", "helper ag" + "ent", r"this ses" + r"sion\b"):
        for match in re.finditer(pattern, file.text, re.IGNORECASE):
            line = line_of(file.text, match.start())
            yield Problem(file.path, line, f"'{match.group(0)}' is about a workplace, not about baton")


def _block_end(code, begin):
    """The offset after the brace that closes the one at begin."""
    depth = 0
    for offset in range(begin, len(code)):
        if code[offset] == "{":
            depth += 1
        elif code[offset] == "}":
            depth -= 1
            if depth == 0:
                return offset + 1
    return len(code)


def check_awaits_and_handlers(file):
    """No catch (...) around an await: it would swallow the cancellation; no await in a handler: it is ill-formed."""
    if not file.is_cxx:
        return
    code = without_comments_and_strings(file.text)
    for match in re.finditer(r"\btry\s*\{", code):
        body_end = _block_end(code, match.end() - 1)
        body = code[match.end() : body_end]
        rest = body_end
        while handler := re.compile(r"\s*catch\s*\(([^)]*)\)\s*\{").match(code, rest):
            handler_end = _block_end(code, handler.end() - 1)
            if handler.group(1).strip() == "..." and "co_await" in body:
                yield Problem(file.path, line_of(code, handler.start(1)), "catch (...) around co_await")
            if "co_await" in code[handler.end() : handler_end]:
                yield Problem(file.path, line_of(code, handler.start(1)), "co_await in a handler")
            rest = handler_end


def check_file_length(file):
    if not file.is_cxx and file.suffix != ".py":
        return
    lines = file.text.count("\n")
    allowed, _ = LONG_FILES.get(file.path, (LINES_PER_FILE, ""))
    if lines > allowed:
        yield Problem(file.path, lines, f"{lines} lines, {allowed} allowed: time to move a wall")


def functions(code):
    """(first line, last line) of each function body outside any other function."""
    stack = []  # True: a function's brace
    header_start = 0
    for match in re.finditer(r"[{};]", code):
        offset, symbol = match.start(), match.group(0)
        if symbol == "{":
            header = code[header_start:offset]
            inside = any(kind for kind, _ in stack)
            kind = not inside and _opens_function(header)
            first = header_start + len(header) - len(header.lstrip())
            stack.append((kind, line_of(code, first)))
            header_start = offset + 1
        elif symbol == "}":
            kind, first = stack.pop() if stack else (False, 0)
            if kind:
                yield first, line_of(code, offset)
            header_start = offset + 1
        elif code.count("(", header_start, offset) == code.count(")", header_start, offset):
            header_start = offset + 1


def _opens_function(header):
    header = re.sub(r"^\s*#[^\n]*$", "", header, flags=re.MULTILINE).strip()
    if not header or re.search(r"\b(namespace|class|struct|union|enum)\b(?![^(]*\()", header):
        return False
    return "(" in header and not header.endswith(("=", ",", "("))


def check_function_length(file):
    if not file.is_cxx:
        return
    allowed, _ = LONG_FUNCTIONS.get(file.path, (LINES_PER_FUNCTION, ""))
    for first, last in functions(without_comments_and_strings(file.text)):
        if last - first + 1 > allowed:
            yield Problem(file.path, first, f"a function of {last - first + 1} lines, {allowed} allowed")


def check_header_shape(file):
    if file.suffix != ".h":
        return
    lines = file.text.splitlines()
    code = [line for line in lines if line.strip() and not line.startswith("//")]
    if not code or code[0] != "#pragma once":
        yield Problem(file.path, 1, "the first line of code is not #pragma once")
    if file.path.startswith(("src/", "sim/")) and not (lines and lines[0].startswith("// ")):
        yield Problem(file.path, 1, "the header does not open with what it is for")


def check_own_header_first(file):
    """A .cc file whose header exists includes it first, which proves that the header compiles by itself."""
    if file.suffix != ".cc" or not file.path.startswith(("src/", "sim/")):
        return
    own = re.sub(r"^src/", "", file.path)[: -len(".cc")] + ".h"
    found = list(includes(file))
    if any(what == f'"{own}"' for _, what in found) and found[0][1] != f'"{own}"':
        yield Problem(file.path, found[0][0], f'"{own}" is to be included first')


def check_line_width(file):
    if file.suffix not in {".py", ".cmake", ".sh", ""} and not file.path.endswith("CMakeLists.txt"):
        return
    for number, line in enumerate(file.text.splitlines(), 1):
        if len(line) > 120:
            yield Problem(file.path, number, f"{len(line)} columns, 120 allowed")


def check_trailing_space(file):
    if file.suffix not in CXX_SUFFIXES | {".py", ".cmake", ".sh", ".md", ""}:
        return
    for number, line in enumerate(file.text.splitlines(), 1):
        if line != line.rstrip():
            yield Problem(file.path, number, "space at the end of the line")
    if file.text and not file.text.endswith("\n"):
        yield Problem(file.path, file.text.count("\n") + 1, "no newline at the end of the file")


FILE_RULES = [
    check_layers, check_libraries, check_cuda_includes, check_banned_words, check_markers, check_place_names,
    check_awaits_and_handlers, check_file_length, check_function_length, check_header_shape, check_own_header_first,
    check_line_width, check_trailing_space,
]


def check_sources_are_built(files):
    """Every .cc file of the tree is named in the CMakeLists.txt of its folder or of one above."""
    lists = {str(pathlib.PurePosixPath(file.path).parent): file.text
             for file in files if file.path.endswith("CMakeLists.txt")}
    for file in files:
        if file.suffix != ".cc":
            continue
        path = pathlib.PurePosixPath(file.path)
        named = any(
            re.search(rf"(?<![\w/.]){re.escape(str(path.relative_to(folder)))}(?![\w.])", lists.get(str(folder), ""))
            for folder in path.parents)
        if not named:
            yield Problem(file.path, 1, "no CMakeLists.txt names this file, so nothing builds it")


def check_exceptions_are_needed(files):
    """A list of exceptions that names what is gone, or allows more than there is, has not been kept."""
    by_path = {file.path: file for file in files}
    for path, (allowed, _) in LONG_FILES.items():
        if path not in by_path or by_path[path].text.count("\n") <= LINES_PER_FILE:
            yield Problem("tests/tidy_rules.py", 1, f"LONG_FILES needs no {path} ({allowed}) any more")
    for path, (allowed, _) in LONG_FUNCTIONS.items():
        code = without_comments_and_strings(by_path[path].text) if path in by_path else ""
        longest = max((last - first + 1 for first, last in functions(code)), default=0)
        if longest < allowed:
            yield Problem("tests/tidy_rules.py", 1, f"LONG_FUNCTIONS: {path} needs {longest}, not {allowed}")


TREE_RULES = [check_sources_are_built, check_exceptions_are_needed]
