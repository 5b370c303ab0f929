#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stands in for run-in-tree, nvidia-smi and nvidia-cuda-mps-control of a GPU node: answers with OSU's recorded output
(osu_xccl_allreduce: NCCL's measured times of some sizes, in the format of that program).
usage: fake_tree.py WHICH ARGUMENTS...
GPUS: how many there are. CALLS: a file that gets every command. SLOW: a program that does not end."""
import os
import sys
import time

OSU = os.path.join(os.path.dirname(os.path.abspath(__file__)), "osu")
VARIABLES = "NCCL_NVLS_ENABLE", "TORCH_SYMM_MEM_DISABLE_MULTICAST", "NVSHMEM_DISABLE_NVLS", "CUDA_MPS_PIPE_DIRECTORY"


def after(words, option, default=""):
    return words[words.index(option) + 1] if option in words else default


def osu(name, words):
    first, last = map(int, after(words, "-m").split(":"))
    with open(os.path.join(OSU, name)) as text:
        for line in text:
            if not line[0].isdigit() or first <= int(line.split()[0]) <= last:
                sys.stdout.write(line)
    sys.stdout.flush()


def perf(words):
    if "--setup" in words:
        print("# coll_gpu_perf --setup: ...\nwhat,value\nfirst_first_call_us,40000.0\nfirst_gpu_bytes,134217728\n"
              "further_gpu_bytes,524288")
        return
    linger = "coll_gpu_linger_us" in words
    if "--kernels" in words:
        print("# coll_gpu_perf --kernels: ...\nkernel,bytes,alone_us,after_us,ratio")
        for size in after(words, "--sizes").split(","):
            us = 100 if linger else 102 if int(size) < 1024 else 104
            print(f"one_wave,{size},99.00,{us:.2f},1.0")
        return
    sizes = after(words, "--sizes") or after(words, "-b")
    with open(after(words, "--csv"), "w") as out:
        out.write("bytes,mean_us,median_us,wrong,executor,path\n")
        for size in sizes.split(","):
            if "coll_gpu_verbose" in words:
                us = tuned(int(size), after(words, "-n"))
                out.write(f"{size},{us + 1:.3f},{us:.3f},0,fast,p2p\n")
                continue
            us = 2 + int(size) / 130e3 + ("--offset" in words) * 4 - 0.5 * linger - 0.1 * ("--persistent" in words)
            out.write(f"{size},{us + 1:.3f},{us:.3f},{os.environ.get('WRONG', 0)},fast,p2p\n")


def tuned(size, ranks):
    """Time of a size with the row of OMPI_MCA_coll_gpu_rows; as the component does, tells which row it takes. LL serves
    up to 32 KiB, ring nothing."""
    row = os.environ.get("OMPI_MCA_coll_gpu_rows", "").split()
    protocol, blocks = (row[6], int(row[7])) if row else ("", 0)
    if not row or row[5] in ("ring", "copy") or (protocol == "ll" and size > 32768):
        row, source = "allreduce any any any any - ll128 0".split(), "built-in"
        protocol, blocks = "ll128", 0
    else:
        source = "coll_gpu_rows"
    if protocol == "general" and row[2] == "p2p":
        row, source = "allreduce any any any any owners general 0".split(), "built-in"
    print(f"[node:1] coll_gpu: rank 0 of MPI_COMM_WORLD: allreduce of {size} bytes by x, chosen by line 7 of {source}: "
          + " ".join(row), file=sys.stderr)
    start, speed = {"ll": (2, 1e4), "ll128": (2.05, 1e5), "two_shot": (30, 3e5)}.get(protocol, (9, 3e3))
    return start + size / speed + (0 if blocks in (0, 16) else 0.5) - (protocol == "ll128" and blocks == 16) * size / 4e5


def main():
    me, words = sys.argv[1], sys.argv[2:]
    with open(os.environ["CALLS"], "a") as calls:
        calls.write(" ".join([me] + words + [f"{v}={os.environ.get(v, '')}" for v in VARIABLES]) + "\n")
        if me == "nvidia-cuda-mps-control" and not words:
            calls.write("mps " + sys.stdin.read())
    names = [os.path.basename(word) for word in words]
    program = next((name for name in names if name.startswith(("osu_", "coll_gpu_perf"))), "")
    if me == "nvidia-smi":
        print("\n".join(["NVIDIA H200, 580.1"] * int(os.environ["GPUS"])))
    elif any("ompi_info" in word for word in words):
        print("mca:coll:gpu:param:coll_gpu_rows_in_use:value:allreduce device p2p 2 0-32768 - ll 0; allreduce device "
              "p2p 2 0-8388608 - ll128 0; allreduce any any any any ring general 0\n"
              "mca:coll:gpu:param:coll_gpu_rows_in_use:source:default\n"
              "mca:coll:gpu:param:coll_gpu_protocols:value:general ll ll128 two_shot\n"
              "mca:coll:gpu:param:coll_gpu_plans:value:allreduce copy exchange owners ring; bcast chain")
    elif program == "coll_gpu_perf":
        perf(words)
    elif program:
        osu(program, words)
        if program == os.environ.get("SLOW"):
            time.sleep(60)


main()
