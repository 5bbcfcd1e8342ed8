#!/usr/bin/env python3
"""mdBook preprocessor: makes links hold in the book.

Pages link to files of the repository, so that they also read as plain Markdown. In the book, a link to another page leads
to that page. A handout (labs/LAB/README.md) is the page that includes it. A link to any other file leads to the repository on
GitHub, if it is GitHub that makes the book, and is plain text otherwise.
Sample pages (`samples/NAME.html`) and kernels that run (`live.html#NAME`) are in the book alone, and become links there.
"""

import json
import os
import re
import sys

INCLUDE = re.compile(r"\{\{#include ([^}]+)\}\}")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s#]+)(#[^()\s]*)?\)")

BOOK_ALONE = re.compile(r"`((?:samples/[a-z]+\.html|live\.html#[^`]+))`")


def in_repository(file, text):
    """A link to what no page has, by its path from docs: a file, or (further up) a page of the forge such as its releases."""
    server, name = (os.environ.get(f"GITHUB_{it}") for it in ["SERVER_URL", "REPOSITORY"])
    if not server or not name:
        return text
    parts = file.split("/")
    up = parts.count("..")
    return f"[{text}]({server}/{name}/{'blob/HEAD/' if up == 1 else ''}{'/'.join(parts[up:])})"


def chapters(items):
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter:
            yield chapter
            yield from chapters(chapter["sub_items"])


def main():
    if sys.argv[1:2] == ["supports"]:
        return
    context, book = json.load(sys.stdin)
    docs = os.path.join(context["root"], context["config"]["book"]["src"])
    pages = [it for it in chapters(book["sections" if "sections" in book else "items"]) if it["path"]]
    # Where the text of each page is, and which page has the text of a file. Paths are relative to
    # docs.
    sources = {}
    for page in pages:
        included = INCLUDE.search(page["content"])
        folder = os.path.dirname(page["path"])
        source = os.path.normpath(os.path.join(folder, included[1])) if included else page["source_path"]
        sources[page["path"]] = source
        if included:
            with open(os.path.join(docs, source), encoding="utf-8") as file:
                page["content"] = INCLUDE.sub(lambda _: file.read(), page["content"])
    page_of = {source: path for path, source in sources.items()}

    for page in pages:
        here, source = os.path.dirname(page["path"]), os.path.dirname(sources[page["path"]])

        def link(found):
            image, text, target, anchor = found[1], found[2], found[3], found[4] or ""
            if re.match(r"[a-z]+:", target):
                return found[0]
            # By the way of the file system: `../docs/setup.md` of a handout is the page `setup.md`.
            file = os.path.relpath(os.path.join(docs, source, target), docs)
            if file in page_of:
                return f"[{text}]({os.path.relpath(page_of[file], here)}{anchor})"
            if image or not file.startswith(".."):
                return f"{image}[{text}]({os.path.relpath(file, here)}{anchor})"
            return in_repository(file, text)

        blocks = re.split(r"(```.*?```)", page["content"], flags=re.S)
        in_book = lambda found: f"[{found[1]}]({os.path.relpath(found[1], here)})"
        text = (it if it.startswith("```") else BOOK_ALONE.sub(in_book, LINK.sub(link, it)) for it in blocks)
        page["content"] = "".join(text)
    json.dump(book, sys.stdout)


main()
