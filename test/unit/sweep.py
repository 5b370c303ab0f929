# SPDX-License-Identifier: BSD-3-Clause
"""bench/sweep on a pretended GPU node that answers with OSU's recorded output, and what it computes."""
import glob
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench")]
import choices  # noqa: E402
import fake_node  # noqa: E402
import figures  # noqa: E402
import targets  # noqa: E402


def recorded(name):
    with open(os.path.join(HERE, "osu", name)) as text:
        return text.read()


class Parsing(unittest.TestCase):
    def test_osu(self):
        rows = figures.parse_osu(recorded("osu_allreduce"))
        self.assertEqual((len(rows), rows[8], rows[8388608]), (22, [4.57], [82.07]))
        self.assertEqual(figures.osu_version(recorded("osu_allreduce")), "7.4")
        self.assertEqual(figures.parse_osu(recorded("osu_iallreduce"))[67108864], [1168.93, 1146.12, 1068.91, 97.87])
        self.assertEqual(figures.nccl_version(recorded("osu_xccl_allreduce")), "2.28.9+cuda13.0")

    def test_osu_cut_short(self):
        self.assertEqual(figures.parse_osu("# OSU\n4   1.50\n8    2.5"), {4: [1.5]})
        self.assertEqual(figures.parse_osu("8\n16 text\n"), {})

    def test_interpolate(self):
        points = {16: 10.0, 64: 40.0}
        self.assertEqual(figures.interpolate(points, 16), (10.0, "measured"))
        us, how = figures.interpolate(points, 32)
        self.assertAlmostEqual(us, 20)
        self.assertEqual(how, "interpolated")
        self.assertEqual(figures.interpolate(points, 128), (80.0, "extrapolated"))
        self.assertEqual(figures.interpolate(points, 8), (None, "-"))

    def test_judgement(self):
        self.assertEqual([targets.verdict(v, 6, 4.6) for v in (4.6, 4.7, 6, 6.1)], ["goal", "must", "must", "MISS"])
        self.assertEqual(targets.best_of([{8: 5.0, 16: 7.0}, {8: 4.0}]), {8: (4.0, 5.0, 2), 16: (7.0, 7.0, 1)})
        sizes = targets.sizes_to_check([32768, 1 << 30])
        self.assertEqual((sizes[0], sizes[-1], len(sizes)), (4, 1 << 30, 29 + 2 + 1))
        self.assertLessEqual({32764, 32772, (1 << 30) - 4}, set(sizes))

    def test_csv(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x", "y.csv")
            figures.write_csv(path, [("gpu", "2 x H200: fast")], [{"bytes": 8}, {"bytes": 16, "us": "1.5"}])
            about, rows = figures.read_csv(path)
        self.assertEqual(about, [("gpu", "2 x H200: fast")])
        self.assertEqual(rows, [{"bytes": "8", "us": ""}, {"bytes": "16", "us": "1.5"}])


class Choices(unittest.TestCase):
    def test_rows(self):
        with open(os.path.join(os.path.dirname(fake_node.BENCH), "plan", "table.txt")) as table:
            rows = choices.parse(table.read())
        self.assertEqual([choices.parse(choices.text(row))[0] for row in rows], rows)
        self.assertIn(("allreduce", "device", "p2p", (2, 2), (0, 32768), "-", "ll", 0), [tuple(row) for row in rows])

    def test_switch_points(self):
        rows = choices.parse("allreduce any p2p 2 0-32K - ll 0; allreduce any p2p 2 40000-max - ll128 0 # more\n"
                             "allreduce any p2p 3 0-7 - ll 0\nallreduce host any any 0-9 ring general 0\n"
                             "bcast any any any 0-5 tree general 0; allreduce any shm any 11-12 ring general 0")
        self.assertEqual(choices.switch_points(rows, "allreduce", 2, "device", ("p2p", "shm")), [10, 12, 32768, 39999])
        self.assertEqual(choices.switch_points(rows, "allreduce", 3, "host", ("shm",)), [9, 10, 12])
        self.assertRaises(ValueError, choices.parse, "allreduce any any any 3Q ring general 0")


class Node(unittest.TestCase):
    """The whole script."""

    def sweep(self, gpus, *arguments, **variables):
        """(exit status, output, {part: rows}, commands)."""
        status, out, folder, commands = fake_node.run(self, "sweep", gpus, "--osu", fake_node.HERE_TOO, "--runs", "2", *arguments,
                                                      **variables)
        found = {os.path.basename(p)[:-4].rsplit("-", 1)[1]: figures.read_csv(p)
                 for p in glob.glob(os.path.join(folder, "*.csv"))}
        return status, out, found, commands

    def test_two_gpus(self):
        status, out, found, commands = self.sweep(2)
        self.assertEqual(status, 0, out)
        rows = {row["bytes"]: row for row in found["osu"][1]}
        self.assertEqual((rows["8"]["us"], rows["8"]["nccl_us"], rows["8"]["verdict"]), ("4.57", "15.50", "goal"))
        self.assertEqual((rows["1048576"]["verdict"], rows["16384"]["verdict"], rows["4"]["verdict"]),
                         ("MISS", "must", ""))
        self.assertIn(("commit", "c0ffee"), found["osu"][0])
        self.assertIn("NCCL 2.28.9+cuda13.0", dict(found["osu"][0])["versions"])
        worse = [row["bytes"] for row in found["sizes"][1] if row["faster"] == "NCCL"]
        self.assertIn("# switch points: 32768,8388608;", out)
        self.assertIn("8388608", worse)      # OSU against OSU: 82.07 and 58.3
        self.assertNotIn("8", worse)
        summary = {row["what"]: row for row in found["summary"][1]}
        self.assertEqual(summary["2 ranks: first communicator, MiB per rank"]["verdict"], "MISS")
        self.assertEqual(summary["2 ranks: each further communicator, MiB per rank"]["verdict"], "must")
        self.assertEqual(summary["8 bytes, + synchronize: default / linger 0"]["verdict"], "MISS")
        self.assertEqual(summary["one_wave after 8 bytes: default / linger 0"]["value"], "1.0200")
        self.assertEqual(summary["one_wave after 8 bytes: default / linger 0"]["verdict"], "must")
        self.assertEqual(summary["one_wave after 64 Ki bytes: default / linger 0"]["verdict"], "MISS")
        self.assertEqual(summary["8 bytes, persistent / blocking"]["value"], "0.950")
        self.assertEqual(summary["64 Ki bytes, one element off / aligned"]["verdict"], "MISS")
        self.assertEqual(summary["64 Mi bytes, one element off / aligned"]["verdict"], "must")
        self.assertEqual(summary["64 Mi bytes, overall - compute, us"]["value"], "22.81")
        measured = [c for c in commands if c.startswith("run-in-tree") and "ompi_info" not in c]
        self.assertTrue(all("NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 NVSHMEM_DISABLE_NVLS=1" in c
                            for c in measured))
        self.assertTrue(all(("-n 8 " in c) != c.endswith("CUDA_MPS_PIPE_DIRECTORY=") for c in measured))
        self.assertIn("mps quit", commands)

    def test_one_gpu(self):
        status, out, found, commands = self.sweep(1, "--parts", "osu,sizes")
        self.assertEqual(status, 0, out)
        self.assertFalse([c for c in commands if "osu_xccl" in c])
        self.assertEqual({row["faster"] for row in found["sizes"][1]}, {"-"})
        self.assertIn("not compared", out)
        self.assertIn("sharing 1 GPU(s) under MPS", out)
        self.assertEqual(commands.count("mps quit"), 1)

    def test_no_gpu(self):
        self.assertEqual(self.sweep(0)[0], 77)

    def test_wrong_results(self):
        status, out, _, _ = self.sweep(2, "--parts", "gap", WRONG="3")
        self.assertEqual(status, 1)
        self.assertIn("FAILED", out)

    def test_cut_short(self):
        """What OSU had printed before it stopped counts, and the MPS daemon is stopped all the same."""
        status, out, found, commands = self.sweep(1, "--parts", "osu", "--max-bytes", "8388608", "--scale", "0.05",
                                                  SLOW="osu_allreduce")
        self.assertEqual(status, 1)
        self.assertIn("no end after", out)
        self.assertEqual(len(found["osu"][1]), 22)
        self.assertIn("mps quit", commands)


if __name__ == "__main__":
    unittest.main()
