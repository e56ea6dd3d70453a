"""docs/concordance.md against the ledger and the code: every claim has one row, every name exists.

check_concordance.py CLAIMS.TSV CONCORDANCE.MD

In a row's last cell `001-36` is a claim, `001-P4*` all that begin so, and `000-10.4.13?` all with one more character.
"""

import fnmatch
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parents[2]
COMMANDS = {
    "lengths",
    "lengths --positions alibi",
    "lengths --positions rotary",
    "noise",
    "sparsity",
    "ib",
    "mi",
    "bench attention",
    "plane",
    "train dynamics",
}


def rows_of(page):
    """(line number, cells) of every row with a claim or a call."""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 5 and cells[0] != "section" and not set(line) <= set("|- "):
            yield number, cells


def quoted(cell):
    return re.findall(r"`([^`]+)`", cell)


def claims_have_one_row(ids, rows):
    found = {claim: [] for claim in ids}
    for number, cells in rows:
        for pattern in quoted(cells[4]):
            matched = fnmatch.filter(ids, pattern)
            if not matched:
                yield f"line {number}: {pattern} is no claim; expected an id of claims.tsv, or the beginning of one and *"
            for claim in matched:
                found[claim].append(number)
    for claim, lines in found.items():
        if not lines:
            yield f"claim {claim} has no row; expected one"
        elif len(lines) > 1:
            yield f"claim {claim} is found {len(lines)} times, in lines {lines}; expected once"


def names_exist(rows):
    headers = {path: path.read_text() for path in (ROOT / "include/isentropic").rglob("*.hpp")}
    everything = "\n".join(headers.values())
    package = "\n".join(path.read_text() for path in (ROOT / "python/isentropic").rglob("*.py"))
    paths = {path.relative_to(ROOT / "include/isentropic").as_posix() for path in headers}
    for number, cells in rows:
        for name in quoted(cells[3]):
            if name.endswith(".hpp"):
                known, expected = name in paths, "a header below include/isentropic"
            elif name.startswith("isentropic."):
                last = name.rsplit(".", 1)[-1]
                known, expected = re.search(rf"^(def|class) {last}\b", package, re.MULTILINE), "a name of the package"
            else:
                last = re.escape(name.removesuffix("()").rsplit("::", 1)[-1])
                call = r"\(" if name.endswith("()") else ""
                known, expected = re.search(rf"\b{last}{call}", everything), "a function or class of the headers"
            if not known:
                yield f"line {number}: {name} was not found; expected {expected}"
        for command in set(quoted(cells[2])) - COMMANDS:
            yield f"line {number}: {command} is no command; expected one of {sorted(COMMANDS)}"


def main(claims, page):
    ids = [line.split("\t")[0] for line in pathlib.Path(claims).read_text().splitlines()]
    rows = list(rows_of(pathlib.Path(page)))
    wrong = [*claims_have_one_row(ids, rows), *names_exist(rows)]
    print("\n".join(wrong) or f"concordance: {len(ids)} claims in {len(rows)} rows")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
