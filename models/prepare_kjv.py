#!/usr/bin/env python3
"""The King James text for training: verses without their references, whole books held out.

    bible -f gen1:1-rev22:21 | python3 models/prepare_kjv.py train.txt held_out.txt

A verse is a line, an empty line ends a chapter. The held-out books quote no other and are quoted by none at length.
"""

import re
import sys

HELD_OUT = {"Ruth", "Est", "Eccl", "Jonah", "Gal", "Jas"}


def main() -> None:
    train, held_out = (open(path, "w", encoding="utf-8") for path in sys.argv[1:3])
    before = None
    books = set()
    for line in sys.stdin:
        book, chapter, text = re.match(r"(\d?[A-Za-z]+)(\d+):\d+ (.*)", line).groups()
        books.add(book)
        out = held_out if book in HELD_OUT else train
        if before not in (None, (book, chapter)):
            (held_out if before[0] in HELD_OUT else train).write("\n")
        out.write(text + "\n")
        before = (book, chapter)
    missing = HELD_OUT - books
    if missing:
        sys.exit(f"prepare_kjv.py: no book {', '.join(sorted(missing))}; expected all of them in the text")


if __name__ == "__main__":
    main()
