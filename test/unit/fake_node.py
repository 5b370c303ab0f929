# SPDX-License-Identifier: BSD-3-Clause
"""A pretended GPU node for the tests of bench's scripts: a folder with what fake_tree.py stands in for."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
HERE_TOO = "HERE_TOO"  # an argument that stands for the node's folder
BENCH = os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench")


def run(test, script, gpus, *arguments, **variables):
    """bench/SCRIPT on a node with so many GPUs: (exit status, output, folder with its files, commands)."""
    folder = tempfile.TemporaryDirectory()
    test.addCleanup(folder.cleanup)
    at = folder.name
    for name in "run-in-tree", "nvidia-smi", "nvidia-cuda-mps-control":
        with open(os.path.join(at, name), "w") as text:
            text.write(f"#!/bin/sh\nexec {sys.executable} {HERE}/fake_tree.py {name} \"$@\"\n")
    for name in "coll_gpu_perf", "osu_allreduce", "osu_iallreduce", "osu_xccl_allreduce":
        open(os.path.join(at, name), "w").close()
    for name in os.listdir(at):
        os.chmod(os.path.join(at, name), 0o755)
    calls, out = os.path.join(at, "calls"), os.path.join(at, "out")
    env = dict(os.environ, PATH=at + ":" + os.environ["PATH"], GPUS=str(gpus), CALLS=calls, **variables)
    env.pop("MPS", None)
    arguments = [at if a is HERE_TOO else a for a in arguments]
    done = subprocess.run([sys.executable, os.path.join(BENCH, script), "--build", at, "--out", out, "--commit",
                           "c0ffee", *arguments], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=300)
    with open(calls) as text:
        commands = text.read().splitlines()
    return done.returncode, done.stdout, out, commands
