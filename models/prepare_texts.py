#!/usr/bin/env python3
"""The texts of the bundled models, out of two Debian packages: the King James Bible and the novels of Jane Austen.

    apt-get install bible-kjv r-cran-janeaustenr
    python3 models/prepare_texts.py DIR

writes DIR/train.txt and DIR/held_out.txt. Whole books are held out: six of the Bible, which quote no other and are
quoted by none at length, and one novel. A verse or a paragraph is a line; an empty line ends a chapter of the Bible.
"""

import pathlib
import re
import subprocess
import sys

HELD_OUT_BOOKS = {"Ruth", "Est", "Eccl", "Jonah", "Gal", "Jas"}
NOVELS = {
    "train": ["sensesensibility", "prideprejudice", "mansfieldpark", "emma", "persuasion"],
    "held_out": ["northangerabbey"],
}


def output_of(package: str, *command: str) -> str:
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"prepare_texts.py: {command[0]} failed ({error}); expected the Debian package {package}")


def bible() -> dict[str, str]:
    texts = {"train": "", "held_out": ""}
    books = set()
    before = None
    for line in output_of("bible-kjv", "bible", "-f", "gen1:1-rev22:21").splitlines():
        book, chapter, verse = re.match(r"(\d?[A-Za-z]+)(\d+):\d+ (.*)", line).groups()
        books.add(book)
        part = "held_out" if book in HELD_OUT_BOOKS else "train"
        if before not in (None, (book, chapter)):
            texts["held_out" if before[0] in HELD_OUT_BOOKS else "train"] += "\n"
        texts[part] += verse + "\n"
        before = (book, chapter)
    missing = HELD_OUT_BOOKS - books
    if missing:
        sys.exit(f"prepare_texts.py: no book {', '.join(sorted(missing))}; expected all of them in the text")
    return texts


def novel(name: str) -> str:
    lines = output_of("r-cran-janeaustenr", "Rscript", "-e", f"writeLines(janeaustenr::{name})")
    paragraphs = re.split(r"\n\s*\n", lines.strip())
    return "\n".join(" ".join(paragraph.split()) for paragraph in paragraphs) + "\n"


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: prepare_texts.py DIR")
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for part, text in bible().items():
        text = "\n".join([text, *(novel(name) for name in NOVELS[part])])
        (folder / f"{part}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
