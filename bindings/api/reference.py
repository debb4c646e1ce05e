#!/usr/bin/env python3
"""Writes the reference of C# or of Julia for the documentation: reference.py csharp|julia [FILE]

Every public name of the wrapper is in it with its documentation, which the generators make of the marks in synfire.h (the
shape of a buffer, what may be left out, units and ranges), and with the errors that the header states for the functions
that it calls. The page is Markdown for Doxygen, whose text is HTML as it is.

    csharp      what is public in bindings/csharp/src, without the raw layer: types, and their members by type
    julia       what the module Synfire exports, and the methods of Base that it documents, by file

What is public and not documented stops the program, which names it.

SPDX-License-Identifier: MIT
"""
import html
import itertools
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

import model

BINDINGS = model.ROOT / "bindings"
RAW = {"Native.g.cs", "libsynfire_api.jl", "LibSynfire.jl"}


class Entry:
    """A name: kind ("class", "member", ..), signatures, text (HTML), functions of the C library that it calls, entries."""

    def __init__(self, name, kind, signatures, text, functions=()):
        self.name, self.kind, self.signatures, self.text = name, kind, signatures, text
        self.functions, self.entries = set(functions), []


def fail(problems):
    sys.exit("\n".join(problems))


# ---- C# --------------------------------------------------------------------------------------------------------------

TYPE = re.compile(r"\b(class|struct|enum|interface|delegate)\s+(.*)")
CONSTANT = re.compile(r"((?:[ \t]*///[^\n]*\n)*)\s*(\w+)(\s*=\s*-?\w+)?\s*(?:,|$)")


def blanked(source):
    """The source with comments, strings and characters as spaces: what is left can be read by its braces."""
    part = re.compile(r"//[^\n]*|/\*.*?\*/|@\"(?:[^\"]|\"\")*\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.S)
    return part.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)


class Declaration:
    """start and end of its text, body_start and body_end of what is between its braces (equal where there are none)."""

    def __init__(self, source, code, start, end, body_start, body_end):
        raw = source[start:end]
        self.doc = "\n".join(re.findall(r"^\s*/// ?(.*)$", raw, re.M))
        text = re.sub(r"^\s*(?:\[[^\]]*\]\s*)+", "", " ".join(re.sub(r"(?m)^\s*//.*$", "", raw).split()))
        self.text = text.rstrip("{;").split("=>")[0].strip()
        # The end of a declaration is in the code without strings, and its default arguments are in the source.
        self.start, self.end, self.body_start, self.body_end = start, end, body_start, body_end


def declarations(source, code, begin, end):
    """Those between two places, one after the other."""
    at = start = begin
    while at < end:
        letter = code[at]
        if letter == ";":
            if code[start:at].strip() and not code[start:at].strip().startswith("="):
                yield Declaration(source, code, start, at, at, at)
            start = at + 1
        elif letter == "{":
            depth, close = 0, at
            while True:
                depth += {"{": 1, "}": -1}.get(code[close], 0)
                if depth == 0:
                    break
                close += 1
            yield Declaration(source, code, start, at, at + 1, close)
            at, start = close, close + 1
        at += 1


def member_name(text, type_name):
    """The name by which a member is found: `Launch`, `this[]`, `operator float`."""
    found = re.search(r"\b(implicit|explicit) operator (\S+?)\(", text)
    if found:
        return f"{found[1]} operator {found[2]}"
    found = re.search(r"\boperator\s*(\S+?)\(", text)
    if found:
        return f"operator {found[1]}"
    if re.search(r"\bthis\s*\[", text):
        return "this[]"
    head = re.split(r"\bwhere\b|\s=\s", text)[0]
    found = re.search(r"(\w+)(?:<[\w, ]+>)?\(", head) or re.search(r"(\w+)\s*$", head)
    return found[1] if found else type_name


def shown(element, anchors):
    """The text of an element of a documentation comment as HTML."""
    out = [html.escape(element.text or "")]
    for child in element:
        inner = shown(child, anchors)
        if child.tag == "c":
            out.append(f"<code>{inner}</code>")
        elif child.tag == "code":
            out.append(f"<pre>{inner}</pre>")
        elif child.tag in ("see", "seealso"):
            target = child.get("cref") or child.get("langword") or child.get("href", "")
            name = re.sub(r"\([^)]*\)$", "", target).replace("{", "<").replace("}", ">")
            name = re.sub(r"^Synfire\.", "", name)
            key = anchors(name)
            code = f"<code>{html.escape(name)}</code>"
            out.append(f'<a href="#{key}">{code}</a>' if key else code)
        elif child.tag in ("paramref", "typeparamref"):
            out.append(f"<code>{html.escape(child.get('name'))}</code>")
        elif child.tag == "para":
            out.append(f"<p>{inner}</p>")
        else:
            out.append(inner)
        out.append(html.escape(child.tail or ""))
    return "".join(out)


def documentation(doc, anchors):
    """A documentation comment as HTML: the summary, then a list of parameters and what is returned."""
    if not doc:
        return ""
    root = ElementTree.fromstring(f"<doc>{doc}</doc>")
    text = "".join(f"<p>{shown(one, anchors).strip()}</p>" for one in root if one.tag in ("summary", "remarks", "example"))
    rows = []
    for one in root:
        if one.tag in ("param", "typeparam"):
            rows.append((f"<code>{html.escape(one.get('name'))}</code>", shown(one, anchors)))
        elif one.tag == "returns":
            rows.append(("returns", shown(one, anchors)))
        elif one.tag == "exception":
            rows.append((f"<code>{html.escape(one.get('cref'))}</code>", shown(one, anchors)))
    return text + "".join(f"<dl><dt>{name}</dt><dd>{of.strip()}</dd></dl>" for name, of in rows)


def is_public(text, inside_interface):
    return re.match(r"(?:[\w ]*\b)?(?:public|protected)\b", text) is not None or inside_interface


def read_csharp(folder):
    """Types by name, each with its members. A type may be in several files."""
    types, problems, crefs = {}, [], {}

    def anchors(name):
        plain = re.sub(r"<[^>]*>", "", name)
        return crefs.get(plain)

    pending = []  # documentation is read when all names are known

    def read_type(source, code, one, outer):
        found = TYPE.search(one.text)
        kind = found[1]
        head = re.split(r"\s*:\s|\bwhere\b", found[2])[0].strip()
        if kind == "delegate":  # what it returns comes first
            head = re.sub(r"^[\w.<>\[\]]+\s+(?=\w+\s*\()", "", head)
        name = re.match(r"\w+(?:<[^>]*>)?", head)[0]
        full = f"{outer}.{name}" if outer else name
        entry = types.setdefault(full, Entry(full, kind, [], ""))
        entry.bodies = getattr(entry, "bodies", {})
        if not entry.signatures:
            entry.signatures.append(re.sub(r"\b(?:unsafe|partial) ", "", one.text))
        plain = re.sub(r"<[^>]*>", "", full)
        crefs[plain] = crefs[plain.split(".")[-1]] = f"csharp-{plain}"
        if one.doc:
            pending.append((entry, one.doc))
        if kind == "enum":
            body = source[one.body_start:one.body_end]
            for doc, member, value in CONSTANT.findall(body.rstrip() + "\n"):
                text = "\n".join(re.findall(r"/// ?(.*)", doc))
                of_member = Entry(member, "constant", [f"{member}{value}".strip()], "")
                if not text:
                    problems.append(f"{full}.{member} has no documentation")
                entry.entries.append(of_member)
                pending.append((of_member, text))
                crefs[f"{plain}.{member}"] = f"csharp-{plain}.{member}"
            return
        for member in declarations(source, code, one.body_start, one.body_end):
            body = source[member.start:member.body_end]
            called = set(re.findall(r"\bNative\.(synfire_\w+)", body))
            label = member_name(member.text, name)
            entry.bodies.setdefault(label, []).append((called, set(re.findall(r"\b(\w+)\s*(?:<[\w, ]+>)?\(", body))))
            if TYPE.search(member.text) and not re.search(r"[(=]", member.text.split("class")[0].split("struct")[0]):
                if is_public(member.text, False):
                    read_type(source, code, member, full)
                continue
            if not is_public(member.text, kind == "interface"):
                continue
            if not member.doc and not re.search(r"\boverride\b", member.text):
                problems.append(f"{full}: {member.text} has no documentation")
            signature = re.sub(r"\bunsafe ", "", member.text)
            signature = re.sub(r"\)\s*:\s*(?:base|this)\(.*", ")", signature)
            accessors = source[member.body_start:member.body_end]
            if "(" not in re.split(r"\s=\s", member.text)[0] and member.body_end > member.body_start:
                has_set = re.search(r"(?<!\w)(?<!private )(?<!internal )set\b", blanked(accessors))
                signature += " { get; set; }" if has_set else " { get; }"
            of_member = Entry(label, "member", [signature], "", called)
            of_member.calls = entry.bodies[label][-1][1]
            entry.entries.append(of_member)
            pending.append((of_member, member.doc))
            crefs.setdefault(f"{plain}.{label}", f"csharp-{plain}.{label}")

    for path in sorted(folder.glob("*.cs")):
        if path.name in RAW:
            continue
        source = path.read_text(encoding="utf-8")
        code = blanked(source)
        for space in declarations(source, code, 0, len(code)):
            if not re.search(r"\bnamespace\b", space.text):
                continue
            for one in declarations(source, code, space.body_start, space.body_end):
                if TYPE.search(one.text) and is_public(one.text, False):
                    read_type(source, code, one, "")
    for entry in types.values():
        # A member calls functions through others of its type, too.
        for member in entry.entries:
            seen, calls = {member.name}, list(getattr(member, "calls", ()))
            while calls:
                name = calls.pop()
                if name in seen or name not in entry.bodies:
                    continue
                seen.add(name)
                for functions, further in entry.bodies[name]:
                    member.functions |= functions
                    calls += further
    for entry, doc in pending:
        entry.text += documentation(doc, anchors)
    problems += [f"{name} has no documentation" for name, entry in types.items() if not entry.text]
    if problems:
        fail(problems)
    return [types[name] for name in sorted(types, key=str.lower)]


# ---- Julia -----------------------------------------------------------------------------------------------------------

DEFINITION = re.compile(r"(?:@\w+ )*(?:module |mutable struct |struct |abstract type |function |const )?(?:Base\.)?([\w!]+)")

def in_line(text, anchors):
    """Markdown within a line as HTML."""
    parts = re.split(r"(\[`[^`]*`\]\([^)]*\)|`[^`]*`)", text)
    out = []
    for part in parts:
        link = re.fullmatch(r"\[`([^`]*)`\]\(([^)]*)\)", part)
        if link:
            code = f"<code>{html.escape(link[1])}</code>"
            key = anchors(link[1])
            out.append(f'<a href="#{key}">{code}</a>' if key else code)
        elif part.startswith("`") and len(part) > 1:
            out.append(f"<code>{html.escape(part[1:-1])}</code>")
        else:
            out.append(html.escape(part))
    return "".join(out)


def markdown(text, anchors):
    """The Markdown of docstrings as HTML: paragraphs, lists, code."""
    out, at, lines = [], 0, text.split("\n")
    while at < len(lines):
        line = lines[at]
        if line.startswith("```"):
            end = next(i for i in range(at + 1, len(lines)) if lines[i].startswith("```"))
            out.append("<pre>" + html.escape("\n".join(lines[at + 1:end])) + "</pre>")
            at = end + 1
        elif line.startswith("    "):
            end = at
            while end < len(lines) and lines[end].startswith("    "):
                end += 1
            out.append("<pre>" + html.escape("\n".join(one[4:] for one in lines[at:end])) + "</pre>")
            at = end
        elif line.startswith("- "):
            items = []
            while at < len(lines) and (lines[at].startswith("- ") or lines[at].startswith("  ")):
                if lines[at].startswith("- "):
                    items.append(lines[at][2:])
                else:
                    items[-1] += " " + lines[at].strip()
                at += 1
            out.append("<ul>" + "".join(f"<li>{in_line(item, anchors)}</li>" for item in items) + "</ul>")
        elif not line.strip():
            at += 1
        else:
            end = at
            while end < len(lines) and lines[end].strip() and not lines[end].startswith(("- ", "```", "    ")):
                end += 1
            out.append(f"<p>{in_line(' '.join(lines[at:end]), anchors)}</p>")
            at = end
    return "".join(out)


def exports(sources):
    """The names that the module exports."""
    return {name for source in sources for names in re.findall(r"^export ((?:.*,\n\s+)*.*)$", source, re.M)
            for name in re.split(r",\s*", names)}


def read_julia(folder):
    """The documented names by file, with those of a file in its order."""
    sources = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.jl")) if path.name not in RAW}
    public = exports(sources.values())
    block = re.compile(r'^"""\n(.*?)^"""\n|^"((?:[^"\\\n]|\\.)+)"\n', re.M | re.S)
    files, pending, known = [], [], {}

    def anchors(name):
        return known.get(re.match(r"[\w!.]+", name)[0]) if re.match(r"[\w!.]+", name) else None

    for name, source in sources.items():
        group = Entry(name, "file", [], "")
        found = list(block.finditer(source))
        for i, match in enumerate(found):
            end = found[i + 1].start() if i + 1 < len(found) else len(source)
            code = source[match.end():end]
            text = re.sub(r'\\(["\\$])', r"\1", match[1] if match[1] is not None else match[2])
            lines = text.split("\n")
            head = [line[4:] for line in itertools.takewhile(lambda line: line.startswith("    "), lines)]
            defined = DEFINITION.match(code)
            named = [re.match(r"([\w!.]+)(?:\(|$|[ {<])", line) for line in head]  # a signature's further lines are indented
            names = list(dict.fromkeys(match[1] for match in named if match)) or ([defined[1]] if defined else [])
            if not names or names == ["Synfire"]:
                continue
            # The functions that the code up to the next documented name calls or hands on.
            entry = Entry(names[0], "function", head or [names[0]], "", re.findall(r"LibSynfire\.(synfire_\w+)", code))
            entry.names = names
            group.entries.append(entry)
            pending.append((entry, "\n".join(lines[len(head):])))
            for one in names:
                known.setdefault(one, f"julia-{one}")
        if group.entries:
            files.append(group)
    for entry, text in pending:
        entry.text = markdown(text, anchors)
    documented = {name for group in files for entry in group.entries for name in entry.names}
    missing = sorted(public - documented)
    if missing:
        fail([f"{name} is exported and has no documentation" for name in missing])
    return files


# ---- The page --------------------------------------------------------------------------------------------------------

def errors_of(functions, api):
    """The errors that the header states for these functions, as it orders them."""
    found = {error for name in functions if name in api.function for error in api.function[name].errors}
    return [constant.name for constant in api.constants if constant.name in found]


def errors_text(language, entry, api):
    names = errors_of(entry.functions, api)
    if not names:
        return ""
    if language == "csharp":
        names = ["".join(part.capitalize() for part in name[len("SYNFIRE_"):].split("_")) for name in names]
    codes = ", ".join(f"<code>{name}</code>" for name in names)
    return f"<dl><dt>errors</dt><dd>{codes}</dd></dl>"


def entry_html(language, entry, anchor, api):
    # Several methods of one name have one anchor, that of the first.
    key = f' id="{anchor}"' if anchor else ""
    signatures = html.escape("\n".join(entry.signatures))
    return f'<dt{key}><pre>{signatures}</pre></dt><dd>{entry.text}{errors_text(language, entry, api)}</dd>\n'


INTRODUCTION = {
    "csharp": "Every public type of the assembly, and its members. Errors of the C library are thrown as "
              "<code>SynfireException</code>, whose <code>Status</code> is one of those that a member lists; the numbers "
              "and shapes that are not allowed are named in its text, and a rule in <code>RuleId</code>. Shapes are "
              "row-major: <code>[T, B, N]</code> are steps, rows of the batch and neurons, with the neurons fastest.",
    "julia": "Every exported name, and the methods of <code>Base</code> that the package has, by file. Errors of the C library "
             "are thrown as <code>SynfireError</code>, whose <code>status</code> is one of those that a name lists. Arrays "
             "are column-major: <code>[N, B, T]</code> are neurons, rows of the batch and steps, with the neurons fastest."}


def page(language):
    api = model.read()
    if language == "csharp":
        groups, title = read_csharp(BINDINGS / "csharp/src"), "Reference of C#"
    else:
        groups, title = read_julia(BINDINGS / "julia/Synfire/src"), "Reference of Julia"
    out, used = [], set()

    def anchor(name):
        key = f"{language}-{re.sub(r'<[^>]*>', '', name)}"
        if key in used:
            return None
        used.add(key)
        return key

    index = []
    for group in groups:
        key = anchor(group.name)
        links = [f'<a href="#julia-{name}"><code>{html.escape(name)}</code></a>'
                 for entry in group.entries for name in getattr(entry, "names", ())]
        names = ": " + ", ".join(links) if links else ""
        index.append(f'<li><a href="#{key}"><code>{html.escape(group.name)}</code></a>{names}</li>')
        head = f"<pre>{html.escape(group.signatures[0])}</pre>{group.text}" if group.signatures else ""
        out.append(f'<h2 id="{key}">{html.escape(group.name)}</h2>\n{head}\n<dl class="reference">\n')
        if language == "csharp":
            plain = re.sub(r"<[^>]*>", "", group.name)
            out += [entry_html(language, entry, anchor(f"{plain}.{entry.name}"), api) for entry in group.entries]
        else:
            for entry in group.entries:
                keys = [key for key in map(anchor, entry.names) if key]
                out += [f'<span id="{key}"></span>' for key in keys[1:]]
                out.append(entry_html(language, entry, keys[0] if keys else None, api))
        out.append("</dl>\n")
    body = f"<p>{INTRODUCTION[language]}</p>\n<ul>\n" + "\n".join(index) + "\n</ul>\n" + "".join(out)
    return f"# {title} {{#reference_{language}}}\n\n@htmlonly[block]\n{body}@endhtmlonly\n"


def main():
    text = page(sys.argv[1])
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
