"""Compares src/layers.cmake with the sources' includes: nothing unlisted, nothing listed but unused, no cycles.

python3 check_layers.py PROJECT
"""

import collections
import pathlib
import re
import sys

PACKAGES = {
    "hwy": "highway", "cuda_runtime_api.h": "cuda", "Eigen": "eigen", "boost": "boost", "nlohmann": "json", "fmt": "fmt", "CLI": "cli11",
    "unicode": "icu", "pcre2.h": "pcre2", "zlib.h": "zlib", "torch": "torch", "ATen": "torch", "c10": "torch",
}  # fmt: skip


class Layer:
    def __init__(self, folder, words):
        self.folder, self.recursive = folder, "RECURSIVE" in words
        lists, current = collections.defaultdict(list), None
        for word in words:
            if word in ("LIBRARY", "USES", "HEADERS", "PACKAGES"):
                current = word
            elif word != "RECURSIVE":
                lists[current].append(word)
        self.uses, self.headers, self.packages = (set(lists[key]) for key in ("USES", "HEADERS", "PACKAGES"))


def read_table(text):
    text = re.sub(r"#.*", "", text)
    calls = (call.split() for call in re.findall(r"layer\(([^)]*)\)", text))
    return {words[0]: Layer(words[0], words[1:]) for words in calls}


def owner_of_source(layers, path):
    folder = path.parent.as_posix()
    if folder in layers:
        return folder
    return next(
        (up.as_posix() for up in path.parents if up.as_posix() in layers and layers[up.as_posix()].recursive), None
    )


def owner_of_header(layers, name):
    """The layer of a public header: "mask.hpp", "theory/noise.hpp"."""
    keys = [name.removesuffix(".hpp")]
    if "/" in name:  # a header named explicitly takes precedence over its folder
        keys.append(name.rsplit("/", 1)[0] + "/")
    return next((layer.folder for key in keys for layer in layers.values() if key in layer.headers), None)


def owners(root, layers):
    """Maps every file to its layer."""
    for path in sorted((root / "src").rglob("*.[ch]pp")):
        yield path, owner_of_source(layers, path.relative_to(root / "src"))
    public = root / "include" / "isentropic"
    for path in sorted(public.rglob("*.hpp")):
        yield path, owner_of_header(layers, path.relative_to(public).as_posix())


def included_layer(root, layers, header):
    if header.startswith("isentropic/"):
        return owner_of_header(layers, header.removeprefix("isentropic/"))
    return owner_of_source(layers, pathlib.PurePosixPath(header)) if (root / "src" / header).exists() else None


def check(root):
    layers = read_table((root / "src" / "layers.cmake").read_text())
    problems, met_layers, met_packages = [], collections.defaultdict(set), collections.defaultdict(set)
    for path, owner in owners(root, layers):
        shown = path.relative_to(root)
        if owner is None:
            problems.append(f"{shown} belongs to no layer of src/layers.cmake")
            continue
        text = path.read_text()
        for header in re.findall(r'^#include "([^"]+)"', text, re.M):
            target = included_layer(root, layers, header)
            if target is None:
                problems.append(f'{shown} includes "{header}", which belongs to no layer')
            elif target != owner:
                met_layers[owner].add(target)
                if target not in layers[owner].uses:
                    problems.append(f'{shown} includes "{header}": {owner} may not use {target}')
        for header in re.findall(r"^#include <([^>]+)>", text, re.M):
            package = PACKAGES.get(header.split("/")[0])
            if package:
                met_packages[owner].add(package)
                if package not in layers[owner].packages:
                    problems.append(f"{shown} includes <{header}>: {owner} may not use {package}")
    seen = set()
    for folder, layer in layers.items():
        for used in sorted(layer.uses - met_layers[folder]):
            problems.append(f"src/layers.cmake: {folder} lists {used}, which it does not include")
        for package in sorted(layer.packages - met_packages[folder]):
            problems.append(f"src/layers.cmake: {folder} lists the package {package}, which it does not include")
        for used in sorted(layer.uses - seen):
            problems.append(f"src/layers.cmake: {folder} uses {used}, which is not above it")
        seen.add(folder)
    return problems


def main():
    problems = check(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "layers: every include is as src/layers.cmake says")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
