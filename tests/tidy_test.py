#!/usr/bin/env python3
"""Runs the house rules of tidy_rules.py over the tree, and proves of each rule that it catches what it is for."""

import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tidy_rules as rules  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["src", "sim", "tests", "tools", "cmake", ".ci"]
TEXT_SUFFIXES = {".h", ".cc", ".cu", ".cuh", ".py", ".cmake", ".sh", ".md", ".txt", ".json", ".toml", ""}


def read_tree():
    names = [path for path in ROOT.iterdir() if path.is_file()]
    for folder in FOLDERS:
        names += [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    files = []
    for path in sorted(names):
        relative = path.relative_to(ROOT).as_posix()
        if path.suffix not in TEXT_SUFFIXES or any(part in relative for part in ("__pycache__", "/data/", "/corpus/")):
            continue
        data = path.read_bytes()
        if b"\0" not in data:
            files.append(rules.File(relative, data.decode("utf-8")))
    return files


class TreeTest(unittest.TestCase):
    def test_the_tree_keeps_the_house_rules(self):
        files = read_tree()
        self.assertGreater(len(files), 50, "the rules looked at hardly anything")
        problems = [problem for rule in rules.FILE_RULES for file in files for problem in rule(file)]
        problems += [problem for rule in rules.TREE_RULES for problem in rule(files)]
        if problems:
            self.fail(f"{len(problems)} problems\n" + "\n".join(str(problem) for problem in problems))

    def test_no_tracked_file_is_large(self):
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
        if listed.returncode != 0:
            self.skipTest("not a git checkout")
        large = [name for name in listed.stdout.split("\0")
                 if name and (ROOT / name).is_file() and (ROOT / name).stat().st_size > 4 << 20]
        self.assertEqual(large, [])


class RuleTest(unittest.TestCase):
    def caught(self, rule, path, text):
        return [problem.line for problem in rule(rules.File(path, text))]

    def test_layers(self):
        text = '#include <vector>\n#include "roles/prefill.h"\n'
        self.assertEqual(self.caught(rules.check_layers, "src/runtime/a.h", text), [2])
        self.assertEqual(self.caught(rules.check_layers, "src/model/kv/a.cc", text), [2])
        self.assertEqual(self.caught(rules.check_layers, "src/roles/a.h", text), [])
        self.assertEqual(self.caught(rules.check_layers, "sim/a.h", text), [])
        self.assertEqual(self.caught(rules.check_layers, "src/roles/a.cc", '#include "sim/world.h"\n'), [1])
        self.assertEqual(self.caught(rules.check_layers, "src/roles/policy/a.h", '#include "runtime/task.h"\n'), [1])

    def test_libraries(self):
        text = "#include <boost/asio/post.hpp>\n"
        self.assertEqual(self.caught(rules.check_libraries, "src/roles/prefill.cc", text), [1])
        self.assertEqual(self.caught(rules.check_libraries, "src/runtime/task.h", text), [])

    def test_cuda_includes(self):
        text = '#include <cuda_bf16.h>\n#include "kernels/ops.h"\n#include "runtime/check.h"\n#include <boost/x.hpp>\n'
        self.assertEqual(self.caught(rules.check_cuda_includes, "src/kernels/cuda/a.cu", text), [3, 4])

    def test_banned_words(self):
        text = 'f(detached);\n// detached\nconst char* s = "detached";\nrand();\nbrand(1);\n'
        text += "sleep_for(c, d);\nstd::this_thread::sleep_for(d);\n"
        self.assertEqual(sorted(self.caught(rules.check_banned_words, "src/roles/a.cc", text)), [1, 4, 7])
        self.assertEqual(self.caught(rules.check_banned_words, "src/roles/a.cc", "co_spawn(x);"), [1])
        self.assertEqual(self.caught(rules.check_banned_words, "src/runtime/scope.cc", "co_spawn(x);"), [])

    def test_markers(self):
        self.assertEqual(self.caught(rules.check_markers, "README.md", "a\n// TO" + "DO later\n"), [2])

    def test_place_names(self):
        self.assertEqual(self.caught(rules.check_place_names, "README.md", "see /wo" + "rk/main\n"), [1])

    def test_awaits_and_handlers(self):
        bad = "try {\n co_await f();\n} catch (const X&) {\n} catch (...) {\n}\n"
        self.assertEqual(self.caught(rules.check_awaits_and_handlers, "src/a.cc", bad), [4])
        self.assertEqual(self.caught(rules.check_awaits_and_handlers, "src/a.cc", bad.replace("co_await ", "")), [])
        late = "try {\n f();\n} catch (const X&) {\n co_await g();\n}\n"
        self.assertEqual(self.caught(rules.check_awaits_and_handlers, "src/a.cc", late), [3])

    def test_file_length(self):
        self.assertEqual(self.caught(rules.check_file_length, "src/a.cc", "x\n" * 400), [])
        self.assertEqual(self.caught(rules.check_file_length, "src/a.cc", "x\n" * 401), [401])

    def test_function_length(self):
        body = "  g();\n" * 68
        short = "namespace baton {\nclass A {\n  int x = 0;\n};\nint f(int a) {\n" + body + "}\n}\n"
        self.assertEqual(self.caught(rules.check_function_length, "src/a.cc", short), [])
        long = short.replace("int f(int a) {\n", "int f(int a) {\n  if (a) {\n    h({1, 2});\n  }\n")
        self.assertEqual(self.caught(rules.check_function_length, "src/a.cc", long), [5])
        method = "struct A {\n  void f() const noexcept {\n" + body + "    g();\n  }\n};\n"
        self.assertEqual(self.caught(rules.check_function_length, "src/a.h", method), [2])
        table = "constexpr int kTable[] = {\n" + "  1,\n" * 100 + "};\n"
        self.assertEqual(self.caught(rules.check_function_length, "src/a.cc", table), [])
        constructor = "A::A(int x)\n    : x_(x) {\n" + body + "}\n"
        self.assertEqual(self.caught(rules.check_function_length, "src/a.cc", constructor), [1])

    def test_header_shape(self):
        self.assertEqual(self.caught(rules.check_header_shape, "src/a.h", "// What.\n#pragma once\n"), [])
        self.assertEqual(self.caught(rules.check_header_shape, "src/a.h", "#pragma once\n"), [1])
        self.assertEqual(self.caught(rules.check_header_shape, "tests/a.h", "#include <vector>\n#pragma once\n"), [1])

    def test_own_header_first(self):
        text = '#include <vector>\n#include "runtime/a.h"\n'
        self.assertEqual(self.caught(rules.check_own_header_first, "src/runtime/a.cc", text), [1])
        self.assertEqual(self.caught(rules.check_own_header_first, "src/runtime/b.cc", text), [])

    def test_line_width_and_trailing_space(self):
        self.assertEqual(self.caught(rules.check_line_width, "tools/a.py", "x" * 121 + "\n"), [1])
        self.assertEqual(self.caught(rules.check_trailing_space, "tools/a.py", "x \ny"), [1, 2])

    def test_sources_are_built(self):
        files = [rules.File("src/CMakeLists.txt", "add(a.cc x/b.cc)"), rules.File("src/a.cc", ""),
                 rules.File("src/x/b.cc", ""), rules.File("src/x/c.cc", ""), rules.File("src/x/xb.cc", "")]
        problems = rules.check_sources_are_built(files)
        self.assertEqual([problem.path for problem in problems], ["src/x/c.cc", "src/x/xb.cc"])

    def test_every_rule_has_a_test(self):
        tested = pathlib.Path(__file__).read_text(encoding="utf-8")
        for rule in rules.FILE_RULES:
            self.assertIn(f"rules.{rule.__name__},", tested)


if __name__ == "__main__":
    unittest.main()
