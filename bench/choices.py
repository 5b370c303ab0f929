# SPDX-License-Identifier: BSD-3-Clause
"""Tables of choices, as plan/choose.h has them, for the scripts: rows as text, and what follows from them."""
import collections
import os
import re

import figures

MAX = (1 << 64) - 1
UNIT = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

Row = collections.namedtuple("Row", "collective at via ranks bytes plan protocol blocks")  # ranks, bytes: (from, to)


def number(word):
    if word == "max":
        return MAX
    found = re.fullmatch(r"([0-9]+)([KMG]?)", word)
    if not found:
        raise ValueError(f"'{word}' is no number")
    return int(found.group(1)) * UNIT[found.group(2)]


def bounds(word):
    """'2-8', '9-max', '4', 'any': (from, to)."""
    if word == "any":
        return 0, MAX
    first, dash, last = word.partition("-")
    return number(first), number(last if dash else first)


def parse(text):
    """Rows of a table's text: separated by line ends or ';', '#' begins a comment."""
    rows = []
    for line in text.splitlines():
        for piece in line.partition("#")[0].split(";"):
            words = piece.split()
            if words:
                collective, at, via, ranks, sizes, plan, protocol, blocks = words
                rows.append(Row(collective, at, via, bounds(ranks), bounds(sizes), plan, protocol, int(blocks)))
    return rows


def size_text(size):
    for unit in "GMK":
        if size and size % UNIT[unit] == 0:
            return f"{size // UNIT[unit]}{unit}"
    return "max" if size == MAX else str(size)


def bounds_text(pair):
    first, last = pair
    if (first, last) == (0, MAX):
        return "any"
    return size_text(first) if first == last else f"{size_text(first)}-{size_text(last)}"


def line(row):
    """A row in the fewest characters."""
    return " ".join(text(row).split())


def text(row):
    """A row as a line of a table."""
    ranks = str(row.ranks[0]) if row.ranks[0] == row.ranks[1] else bounds_text(row.ranks)
    return (f"{row.collective:20}  {row.at:6}  {row.via:3}  {ranks:5}  {bounds_text(row.bytes):>15}  {row.plan:8}  "
            f"{row.protocol:8}  {row.blocks}")


def component(build, name):
    """The value of the component's parameter coll_gpu_<name>, '' if there is none."""
    listing = figures.output(os.path.join(build, "run-in-tree"), os.environ.get("OMPI_INFO", "ompi_info"), "--param",
                             "coll", "gpu", "--level", "9", "--parsable")
    found = re.search(rf"^mca:coll:gpu:param:coll_gpu_{name}:value:(.*)$", listing, re.M)
    return found.group(1) if found else ""


def rows_in_use(build):
    return parse(component(build, "rows_in_use"))


def matching(rows, collective, ranks, at, via):
    """Rows that a communicator's operations can meet; via: those of the medium, and those of p2p for devices."""
    return [row for row in rows if row.collective == collective and row.ranks[0] <= ranks <= row.ranks[1] and
            row.at in (at, "any") and row.via in via + ("any",)]


def switch_points(rows, collective, ranks, at, via):
    """Largest sizes before another row can be taken. Ascending."""
    points = set()
    for row in matching(rows, collective, ranks, at, via):
        points |= {row.bytes[0] - 1, row.bytes[1]}
    return sorted(p for p in points if 0 < p < MAX)
