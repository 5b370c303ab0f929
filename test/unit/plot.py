# SPDX-License-Identifier: BSD-3-Clause
"""bench/plot on figures of bench/results and of its own; skipped without matplotlib."""
import importlib.util
import os
import subprocess
import sys
import tempfile

BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "bench")
MADE = """# gpu: 2 x H200
# collective: bcast
bytes,us,us_worst,nccl_us,ceiling_us
8,4.5,4.9,15.5,3.5
1024,4.8,5.5,16.2,
1048576,9.5,9.9,24.4,8.0
"""

SEVERAL = """collective,bytes,us,nccl_us
gather,8,1,2
scatter,8,3,4
gather,16,1,2
"""


def plot(out, *arguments):
    command = [sys.executable, os.path.join(BENCH, "plot"), "--out", out, *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def picture(out, name):
    with open(os.path.join(out, name + ".svg")) as svg:
        return svg.read()


def main():
    if importlib.util.find_spec("matplotlib") is None:
        system = "/usr/bin/python3"  # Debian's, for which python3-matplotlib is; another one may come first in PATH
        if os.path.realpath(sys.executable) != os.path.realpath(system) and os.access(system, os.X_OK):
            os.execv(system, [system, os.path.abspath(__file__)])
        print("no matplotlib")
        return 77
    measured = os.path.join(BENCH, "results", "2026-11-30-h200-shared-osu-allreduce.csv")
    with tempfile.TemporaryDirectory() as out:
        made, empty = os.path.join(out, "made.csv"), os.path.join(out, "empty.csv")
        with open(made, "w") as table, open(empty, "w") as other:
            table.write(MADE)
            other.write("bytes,colour\n8,red\n")
        done = plot(out, "--limit", "392", measured, made)
        assert done.returncode == 0, done.stdout
        for text in "coll/gpu: made", "NCCL: made", "best prototype", "limit 392 GB/s", "bcast: time", "2 x H200":
            assert text in picture(out, "bcast"), text
        first = picture(out, "allreduce")
        assert "2 ranks sharing one H200 under MPS" in first and "NCCL" not in first
        assert len(first) < 100000, len(first)
        assert plot(out, "--limit", "392", measured).returncode == 0 and picture(out, "allreduce") == first, "differs"
        with open(made, "w") as table:
            table.write(SEVERAL)
        done = plot(out, "--prefix", "x-", made)
        assert done.returncode == 0 and sorted(done.stdout.split("\n"))[1].endswith("x-gather.svg: made"), done.stdout
        assert "gather: time" in picture(out, "x-gather") and "scatter: time" in picture(out, "x-scatter")
        done = plot(out, empty)
        assert done.returncode == 1 and "no column bytes" in done.stdout, done.stdout
    return 0


sys.exit(main())
