#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench/tune on a pretended node, and what it makes of its figures."""
import glob
import importlib.machinery
import importlib.util
import os
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench")]
import choices  # noqa: E402
import fake_node  # noqa: E402

loader = importlib.machinery.SourceFileLoader("tune", os.path.join(fake_node.BENCH, "tune"))
tune = importlib.util.module_from_spec(importlib.util.spec_from_loader("tune", loader))
loader.exec_module(tune)
A, B, C = (tune.Way("-", name, 0) for name in ("ll", "ll128", "two_shot"))


class Choice(unittest.TestCase):
    def picked(self, times, now, margin=0.05):
        return [found.way for found in tune.choose(times, now, margin).values()]

    def test_better_wins(self):
        self.assertEqual(self.picked({8: {A: [5], B: [4]}, 16: {A: [9], B: [10]}}, {}), [B, A])

    def test_noise_flips_nothing(self):
        """What is chosen now stays unless another is better by more than the margin, and so does the size before."""
        self.assertEqual(self.picked({8: {A: [100], B: [96]}}, {8: A}), [A])
        self.assertEqual(self.picked({8: {A: [100], B: [94]}}, {8: A}), [B])
        noisy = {8: {A: [10], B: [10.1]}, 16: {A: [10.2], B: [10.1]}, 32: {A: [11], B: [11.3]}, 64: {A: [20], B: [12]}}
        self.assertEqual(self.picked(noisy, {}), [A, A, A, B])

    def test_median_of_runs(self):
        self.assertEqual(self.picked({8: {A: [5, 5, 50], B: [1, 7, 7]}}, {}), [A])

    def test_only_what_ran(self):
        """A choice that could not carry a size is none there."""
        self.assertEqual(self.picked({8: {A: [5], B: [6]}, 16: {B: [7], C: [9]}}, {16: A}), [A, B])

    def test_taken(self):
        text = "x rank 0 of MPI_COMM_WORLD: allreduce of 4 bytes by owners, chosen by line 9 of built-in: " \
               "allreduce any any any any owners general 0\n" \
               "x rank 0 of MPI_COMM_WORLD: gather of 8 bytes by arms, chosen by line 3 of f: " \
               "gather any any any any arms general 0\n" \
               "x rank 0 of MPI_COMM_WORLD: allreduce of 8 bytes by ll, chosen by line 1 of coll_gpu_rows: " \
               "allreduce any p2p any any - ll 2\n" \
               "x rank 1 of MPI_COMM_WORLD: allreduce of 16 bytes by q, chosen by line 1 of q: q\n" \
               "x rank 0 of MPI_COMM_WORLD: allreduce of 64 bytes by ll128, chosen by line 10 of a/b.txt: " \
               "allreduce any p2p any any - ll128 0\n"
        found = tune.taken(text, "allreduce", [4, 8, 32, 64, 128])
        self.assertEqual({s: (source, row.protocol) for s, (source, row) in found.items()},
                         {4: ("built-in", "general"), 8: ("coll_gpu_rows", "ll"), 32: ("coll_gpu_rows", "ll"),
                          64: ("a/b.txt", "ll128"), 128: ("a/b.txt", "ll128")})


class Node(unittest.TestCase):
    def tuned(self, gpus, *arguments, **variables):
        status, out, folder, commands = fake_node.run(self, "tune", gpus, *arguments, **variables)
        rows = []
        for path in glob.glob(os.path.join(folder, "*.txt")):
            with open(path) as table:
                text = table.read()
            self.assertIn("# commit: c0ffee", text)
            rows = choices.parse(text)
        return status, out, rows, commands

    def test_gpus(self):
        status, out, rows, commands = self.tuned(2, "--runs", "2", "--sizes", "8,1024,32768,65536,1048576,268435456")
        self.assertEqual(status, 0, out)
        self.assertEqual([(r.bytes, r.protocol, r.blocks) for r in rows],
                         [((0, 32768), "ll128", 0), ((32769, 1048576), "ll128", 16),
                          ((1048577, 268435456), "two_shot", 0)])
        self.assertEqual({(r.at, r.via, r.ranks) for r in rows}, {("device", "p2p", (2, 2))})
        self.assertIn("2 with 2 ranks", out)
        self.assertFalse([c for c in commands if "mps" in c.lower() and "MPS_PIPE_DIRECTORY=" not in c])

    def test_host(self):
        status, out, rows, commands = self.tuned(0, "-m", "host", "-n", "2,4", "--sizes", "8,4096", "--runs", "1")
        self.assertEqual(status, 0, out)
        self.assertEqual([(r.at, r.via, r.ranks[0], r.bytes) for r in rows],
                         [("host", "shm", 2, (0, 4096)), ("host", "shm", 4, (0, 4096))])

    def test_shared_gpu(self):
        status, out, rows, commands = self.tuned(1, "--runs", "1", "--sizes", "8")
        self.assertEqual(status, 0, out)
        self.assertIn("mps quit", commands)

    def test_no_gpu(self):
        self.assertEqual(self.tuned(0)[0], 77)

    def test_no_time(self):
        status, out, rows, _ = self.tuned(2, "--limit", "4", "--sizes", "8,16")
        self.assertEqual(status, 1)
        self.assertIn("no time for one round", out)


if __name__ == "__main__":
    unittest.main()
