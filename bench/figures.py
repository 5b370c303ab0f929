# SPDX-License-Identifier: BSD-3-Clause
"""What the scripts of bench/ share: facts about the machine, OSU's output, CSV files behind '#' lines, tables."""
import csv
import datetime
import math
import os
import platform
import re
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def output(*command, **options):
    """A command's output, '' if it cannot be run."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60,
                              **options)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def cpu_model():
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def git_commit():
    commit = output("git", "-C", TOP, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    return commit or "unknown (no git checkout)"


def gpus():
    """["NVIDIA H200, 580.1", ...]: name and driver of each GPU; empty without any."""
    found = output("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    return [line for line in found.split("\n") if line]


def cuda_version():
    """Of the driver, as nvidia-smi prints it."""
    found = re.search(r"CUDA Version: *([0-9.]+)", output("nvidia-smi"))
    return found.group(1) if found else ""


def machine(mpirun):
    """(name, value) pairs that the reader of figures must know."""
    found = gpus()
    return [
        ("date", datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")),
        ("cpu", f"{cpu_model()}, {os.cpu_count()} logical cores, {len(os.sched_getaffinity(0))} usable"),
        ("gpu", f"{len(found)} x {found[0]}" if found else "none"),
        ("kernel", platform.release()),
        ("mpi", output(mpirun, "--version").split("\n")[0]),
        ("load", "%.2f %.2f %.2f at the start" % os.getloadavg()),
    ]


def parse_osu(text):
    """OSU's output: {bytes: [figures of the line]}. Text columns (Pass) are left out, as are unfinished lines."""
    rows = {}
    for line in text.splitlines(keepends=True):
        words = line.split()
        if line.endswith("\n") and len(words) > 1 and words[0].isdigit():
            rows[int(words[0])] = [float(w) for w in words[1:] if re.fullmatch(r"-?[0-9.]+", w)]
    return {size: row for size, row in rows.items() if row}


def osu_version(text):
    found = re.search(r"^# OSU .* v([0-9.]+)\s*$", text, re.M)
    return found.group(1) if found else ""


def nccl_version(text):
    found = re.search(r"NCCL version (\S+)", text)
    return found.group(1) if found else ""


def interpolate(points, size):
    """(us, how) at size from {bytes: us}: measured, between the two neighbours (straight on log axes), or beyond the
    largest at its bandwidth (a time that is too long rather than too short). (None, "-") below the smallest."""
    if size in points:
        return points[size], "measured"
    below, above = [s for s in points if s < size], [s for s in points if s > size]
    if not below:
        return None, "-"
    a = max(below)
    if not above:
        return points[a] * size / a, "extrapolated"
    b = min(above)
    part = math.log(size / a) / math.log(b / a)
    return points[a] * (points[b] / points[a]) ** part, "interpolated"


def write_csv(path, about, rows):
    """rows: dicts; the columns are the keys of all, in order of appearance."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", newline="") as out:
        out.writelines(f"# {name}: {value}\n" for name, value in about)
        table = csv.DictWriter(out, columns, restval="", lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def read_csv(path):
    """([(name, value)], [row]): the '#' lines, name '' where there is none, and the table."""
    about, lines = [], []
    with open(path) as text:
        for line in text:
            if not line.startswith("#"):
                lines.append(line)
                continue
            name, colon, value = line[1:].strip().partition(":")
            about.append((name, value.strip()) if colon and " " not in name else ("", line[1:].strip()))
    return about, list(csv.DictReader(lines))


def table(rows, columns):
    """Text lines of a table, right-aligned."""
    widths = {c: max(len(c), *(len(str(row.get(c, ""))) for row in rows)) for c in columns}
    lines = ["  ".join(c.rjust(widths[c]) for c in columns)]
    return lines + ["  ".join(str(row.get(c, "")).rjust(widths[c]) for c in columns) for row in rows]


def size_name(size):
    """4194304: '4 Mi'."""
    for unit, name in ((1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return str(size)
