# SPDX-License-Identifier: BSD-3-Clause
"""Programs under mpirun for the scripts that measure: within their time, with what they print kept, and with an MPS
daemon where ranks share GPUs."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import figures

# NVLink multicast stays off.
OFF = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}


class Late(Exception):
    """No time left for another run of this part."""


class Job:
    """args: build, memory, mpirun, ranks, limit, prefix (of the log file)."""

    def __init__(self, args):
        self.args = args
        self.gpus = len(figures.gpus()) if args.memory != "host" else 0
        self.start = time.monotonic()
        self.end = self.part_end = self.start + args.limit
        self.failures, self.mps_dir, self.errors = [], None, ""
        self.log = open(args.prefix + ".log", "w")
        os.environ.update(OFF, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    def mps(self, wanted):
        """Start or stop our MPS daemon. MPS=1 in the environment: one runs already."""
        if not wanted and self.mps_dir:
            subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True, timeout=30, stdout=self.log,
                           stderr=self.log)
            shutil.rmtree(self.mps_dir, ignore_errors=True)
            self.mps_dir = None
            del os.environ["CUDA_MPS_PIPE_DIRECTORY"], os.environ["CUDA_MPS_LOG_DIRECTORY"]
        if wanted and not self.mps_dir and os.environ.get("MPS") != "1":
            self.mps_dir = tempfile.mkdtemp()
            for what in "PIPE", "LOG":
                os.environ[f"CUDA_MPS_{what}_DIRECTORY"] = path = os.path.join(self.mps_dir, what.lower())
                os.mkdir(path)
            subprocess.run(["nvidia-cuda-mps-control", "-d"], check=True, timeout=30, stdout=self.log,
                           stderr=self.log)

    def run(self, ranks, mca, program, *arguments, seconds=60, need=True, rows=""):
        """Output of a program under mpirun; what it says on stderr is in self.errors. What is complete of it counts
        also when the run is cut short. rows: of the table of choices, as coll_gpu_rows has them."""
        left = self.part_end - time.monotonic()
        if left < 5:
            raise Late()
        if self.args.memory != "host":
            self.mps(ranks > self.gpus)
        mca = list(mca) + (["coll_gpu_enable", "always"] if self.args.memory == "host" else [])
        mca = [word for i in range(0, len(mca), 2) for word in ("--mca", mca[i], mca[i + 1])]
        command = [os.path.join(self.args.build, "run-in-tree"), self.args.mpirun, "--oversubscribe", "-n", str(ranks),
                   *mca, program, *map(str, arguments)]
        self.log.write("+ " + (f"OMPI_MCA_coll_gpu_rows='{rows}' " if rows else "") + " ".join(command[1:]) + "\n")
        self.log.flush()
        with tempfile.TemporaryFile("w+") as text, tempfile.TemporaryFile("w+") as errors:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=text, stderr=errors,
                                     start_new_session=True,
                                     env=dict(os.environ, OMPI_MCA_coll_gpu_rows=rows) if rows else None)
            why = self.wait(child, min(seconds, left))
            text.seek(0)
            errors.seek(0)
            found, self.errors = text.read(), errors.read()
        self.log.write(found + self.errors + (f"+ {why}\n" if why else ""))
        if why and need:
            self.failures.append(f"{os.path.basename(program)} {' '.join(map(str, arguments))}: {why}")
        return found

    def wait(self, child, seconds):
        """'' or how it failed. mpirun ends its ranks when told to end; a second later nobody is asked any more."""
        try:
            status = child.wait(seconds)
            return f"exit status {status}" if status else ""
        except subprocess.TimeoutExpired:
            return f"no end after {seconds:.0f} s"
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGTERM)
                try:
                    child.wait(5)
                except subprocess.TimeoutExpired:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()

    def perf(self, *arguments, mca=(), ranks=None, seconds=60, rows=""):
        """{bytes: row} of coll_gpu_perf's CSV file. Wrong results are failures."""
        with tempfile.NamedTemporaryFile(suffix=".csv") as table:
            self.run(ranks or self.args.ranks, mca, os.path.join(self.args.build, "coll_gpu_perf"), "-m",
                     self.args.memory, "--inplace", 0, "--csv", table.name, *arguments, seconds=seconds, rows=rows)
            rows = {int(row["bytes"]): row for row in figures.read_csv(table.name)[1] if row["path"]}
        wrong = sum(max(0, int(row["wrong"])) for row in rows.values())
        if wrong:
            self.failures.append(f"coll_gpu_perf {' '.join(map(str, arguments))}: {wrong} wrong results")
        return rows

    def rounds(self, n):
        """Up to n turns while the part has time for another like the longest so far."""
        longest = 0
        for turn in range(n):
            start = time.monotonic()
            if start + longest > self.part_end:
                return
            yield turn
            longest = max(longest, time.monotonic() - start)
