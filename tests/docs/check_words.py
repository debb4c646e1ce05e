#!/usr/bin/env python3
"""Keeps comments, messages and pages in plain English: finds words that are used in a sense of another language, and
sentences without a main verb.

Usage: check_words.py SOURCE [FILE...]    every file of the repository in SOURCE, or only these, named from SOURCE

Comments and string literals of code are read, and everything of a page. Code is not: a variable may have any name.
"""

import bisect
import pathlib
import re
import subprocess
import sys

ROOMS = ("src", "capi", "include", "bindings", "docs", "tests", "tools", "cmake", "README.md", "CHANGELOG.md", "CMakeLists.txt")
# Files in which nobody writes, by the start of their names.
EXCEPTIONS = {
    "tests/abi/synfire-0.1.h": "the header of a release, which no longer changes",
    "tests/docs/check_words": "this script and its test name what they look for",
    "docs/evidence/": "what programs wrote",
}

# Word, a part that every match has, what to write instead, and where the word has its proper sense.
WORDS = [
    (r"behind", "behind", "after, beyond",
     r"(?:leav\w*|left)\b[^.;:]{0,40}\bbehind\b"                # leaves nothing behind
     r"|\bbehind (?:the|its|your) (?:\w+'s )?back\b"            # behind the library's back
     r"|\bbehind (?:a|the|its|one) (?:stable )?(?:C ABI|C header|handle)\b"  # hides
     r"|\b(?:falls?|fell|is|are|be|of|us|far|run|runs) behind\b(?! an? | the )"),  # late
    (r"l(?:ies?|ay|ying) over", "over", "shares the memory of, aliases", None),
    (r"stands?|stood", "stand|stood", "is", r"\bstands?(?: in)? for\b|\bstand-ins?\b|\bas it stands\b"),
    (r"answers|answered|answer(?= (?:::|`|#|SYN))|the answer is(?= [:`S])", "answer", "returns, fails with, is available",
     r"\b(?:the|their|its|of|same|known) answers\b|\"answers\"|-answers\b"),
    (r"whole numbers?", "whole", "integer", None),
    (r"to the bit", "bit", "bit for bit, with the same bits", None),
    (r"(?:is|are|was|were) no \w+", "no", "is not a, are not",
     r"\bthere (?:is|are|was|were) no \w+|\b\w+ no (?:longer|more|less|fewer|better|worse|slower|faster|different|such|other|way|need|reason|secret|class|map)\b"),
    (r"so (?:many|much)", "so", "this many, that many", r"\bso (?:many|much)\b[^.;:]{0,60}?\b(?:that|as)\b|\bso much for\b"),
    (r"some (?:hundreds?|thousands?)", "some", "a few hundred, a few thousand", None),
]


def compiled(pattern):
    """With any white space and any signs of a comment where the pattern has a blank."""
    return re.compile(pattern.replace(" ", r"[\s/*#]+"), re.IGNORECASE)


WORDS = [(compiled(rf"\b(?:{word})\b"), re.compile(part), instead, proper and compiled(proper))
         for word, part, instead, proper in WORDS]

# A comment or a string, whichever begins first; group 1 is a comment.
C_LIKE = re.compile(r"(//[^\n]*|/\*.*?\*/)"
                    r"|[RLu8]*R\"([^\s()\\]{0,16})\((?:.*?)\)\2\""
                    r"|\"\"\".*?\"\"\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n]){1,8}'", re.DOTALL)
HASHES = re.compile(r"((?<![^\s;(){}])#[^\n]*|\"\"\".*?\"\"\"|'''.*?''')"
                    r"|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
PAGES = {".md"}
C_LIKE_FILES = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".rs", ".cs", ".js", ".css"}
HASH_FILES = {".py", ".jl", ".sh", ".cmake", ".txt", ".toml", ".yml", ".yaml", ".map", ".in"}
# What precedes the first word of a comment or a line of one.
SIGNS = re.compile(r"^[ \t]*(?://[/!]*<?|/\*+<?|\*(?!\*)|#+|\"\"\"|''')?[ \t]*(?:\*/)?", re.MULTILINE)
BEGINNING = r"(?:^|\n[ \t]*\n|\n?[ \t]*(?<!\S)- |[.!?]\)?\s+)\s*"
# "Of" and "What" may begin a later sentence, where they often have a verb: "What it throws is passed on."
FRAGMENTS = {
    "Of": re.compile(r"^\s*(?:<\w+>|@brief)?\s*Of\b"),
    "What": re.compile(r"^\s*(?:<\w+>|@brief)?\s*What\b(?![^.]*\?)"),
    "That of": re.compile(BEGINNING + r"That of\b"),
    "Whether": re.compile(BEGINNING + r"(?:<\w+>\s*)?Whether\b(?![^.]*\?|[^.]*\b(?:depends?|matters?|decides?)\b)"),
}


def pieces(path, text):
    """What is read of a file: pairs of where it begins and its text, and whether it is a comment."""
    if path.suffix in PAGES:
        yield 0, text, False
        return
    pattern = C_LIKE if path.suffix in C_LIKE_FILES else HASHES
    begin = end = column = None
    for match in pattern.finditer(text):
        if not match[1]:
            yield match.start(), match[0], False
            continue
        # Lines of one comment, one under the other, are one piece.
        at = match.start() - text.rfind("\n", 0, match.start())
        follows = end is not None and at == column and re.fullmatch(r"[ \t]*\n[ \t]*", text[end:match.start()])
        if follows and text[begin] == text[match.start()] != '"':
            end = match.end()
            continue
        if end is not None:
            yield begin, text[begin:end], True
        begin, end, column = match.start(), match.end(), at
    if end is not None:
        yield begin, text[begin:end], True


def check(path, text):
    """Pairs of a line number and what is wrong there."""
    lower = text.lower()
    words = sorted((match.start(), match[0], instead, proper) for word, part, instead, proper in WORDS if part.search(lower)
                   for match in word.finditer(text))
    if not words and not any(word in text for word in FRAGMENTS):
        return []
    found = []
    for begin, piece, comment in pieces(path, text):
        for at, word, instead, proper in words[bisect.bisect(words, (begin,)):]:
            if at >= begin + len(piece):
                break
            first, last = at - begin, at - begin + len(word)
            if piece[first - 1:last + 1] == f"`{word}`":  # a name of the code
                continue
            if not proper or not any(match.start() <= first and last <= match.end() for match in proper.finditer(piece)):
                found.append((at, f'"{" ".join(word.split())}": write {instead}'))
        if comment and any(word in piece for word in FRAGMENTS):
            # Lengths stay, so that places do.
            plain = SIGNS.sub(lambda match: " " * len(match[0]), piece)
            found += [(begin + match.end() - 1, f'"{word} ..." begins a sentence without a subject and a verb')
                      for word, pattern in FRAGMENTS.items() for match in pattern.finditer(plain)]
    return sorted({(text.count("\n", 0, at) + 1, problem) for at, problem in found})


def files_of(source):
    listed = subprocess.run(["git", "-C", source, "ls-files", "-z", "--", *ROOMS], capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return sorted(set(listed.stdout.split("\0")) - {""})
    return sorted(str(path.relative_to(source)) for room in ROOMS for path in [source / room, *(source / room).rglob("*")]
                  if path.is_file())  # a copy of the sources without their history


def main():
    source = pathlib.Path(sys.argv[1])
    n_files, n_problems = 0, 0
    for name in sys.argv[2:] or files_of(source):
        path = source / name
        if path.suffix not in PAGES | C_LIKE_FILES | HASH_FILES or name.startswith(tuple(EXCEPTIONS)) or not path.is_file():
            continue
        n_files += 1
        for line, problem in check(path, path.read_text(encoding="utf-8")):
            n_problems += 1
            print(f"{name}:{line}: {problem}", file=sys.stderr)
    if n_files == 0:
        sys.exit(f"no files in {source}")
    print(f"{n_files} files, {n_problems} problems")
    sys.exit(n_problems > 0)


if __name__ == "__main__":
    main()
