#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""coll_gpu_info on captured machines, on this one, with a pretended driver, and on bad input."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

TOP = os.environ.get("top_srcdir", ".")
BUILD = os.environ.get("top_builddir", ".")
PROGRAM = os.path.join(BUILD, "coll_gpu_info")
FAKE = os.path.join(BUILD, "test/info/.libs")
SVG = "{http://www.w3.org/2000/svg}"


def machine(name):
    return os.path.join(TOP, "test/topo/machines", name + ".xml")


def run(*args, env=None):
    return subprocess.run([PROGRAM, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                          env={**os.environ, **(env or {})})


def report(*args, env=None):
    done = run("-f", "json", *args, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ways(found):
    return {(p["a"], p["b"]): p["way"] for p in found["pairs"]}


class Machines(unittest.TestCase):
    def test_dgx(self):
        found = report("-t", machine("dgx"))
        self.assertEqual([g["bus_id"] for g in found["gpus"]][:2], ["0000:1b:00.0", "0000:43:00.0"])
        self.assertEqual(found["gpus"][0]["nvlink_MBs"], [0] + 7 * [18 * 26562])
        self.assertEqual(found["gpus"][4]["to_adapters"][6], "PIX")
        self.assertEqual(found["gpus"][0]["to_gpus"], ["X", "NODE", "NODE", "NODE", "SYS", "SYS", "SYS", "SYS"])
        self.assertEqual([r["ports"] for r in found["ranks"]],
                         [f"mlx5_{i}:1" for i in (0, 3, 4, 5, 6, 9, 10, 11)])
        self.assertEqual([r["fifo_node"] for r in found["ranks"]], 4 * [0] + 4 * [1])
        self.assertEqual(set(ways(found).values()), {"NVL"})
        self.assertTrue(found["fast_allreduce"])
        self.assertEqual(found["numa_nodes"][1]["processors"], "8-15")

    def test_virtual_nodes(self):
        found = report("-t", machine("dgx"), "-v", "2")
        for (a, b), way in ways(found).items():
            self.assertEqual(way, "NVL" if a // 4 == b // 4 else "NET", (a, b))
        self.assertFalse(found["fast_allreduce"])
        self.assertIn("pretended", found["not_fast_because"])
        text = next(p["text"] for p in found["pairs"] if (p["a"], p["b"]) == (0, 4))
        self.assertEqual(text, "FIFO in memory of node 0, mlx5_0:1 -> FIFO in memory of node 1, mlx5_6:1")

    def test_virtual_nodes_as_the_engine_splits(self):
        found = report("-t", machine("dgx"), "-n", "5", "-v", "3")
        self.assertEqual([r["part"] for r in found["ranks"]], [i * 3 // 5 for i in range(5)])

    def test_hosts(self):
        found = report("-t", machine("pcie4"), "-H", "2")
        self.assertEqual(len(found["ranks"]), 8)
        self.assertEqual([r["host"] for r in found["ranks"]], 4 * [0] + 4 * [1])
        self.assertEqual(ways(found)[0, 1], "P2P")
        self.assertEqual(ways(found)[0, 4], "NET")
        self.assertEqual([r["ports_path"] for r in found["ranks"]][:4], ["NODE", "NODE", "SYS", "SYS"])

    def test_plans(self):
        """Few ranks: all are linked. Two hosts of 8: rails, so that the other host's ranks of another number are met
        by some collectives alone."""
        self.assertEqual({p["used_by"] for p in report("-t", machine("pcie4"), "-H", "2")["pairs"]}, {"all"})
        used = {(p["a"], p["b"]): p["used_by"] for p in report("-t", machine("dgx"), "-H", "2")["pairs"]}
        self.assertEqual({used[a, b] for a in range(8) for b in range(a + 1, 8)}, {"all"})
        self.assertEqual({used[a, a + 8] for a in range(8)}, {"all"})
        self.assertIn("some", used.values())
        many = [p["used_by"] for p in report("-t", machine("dgx"), "-H", "4")["pairs"]]
        self.assertIn("none", many)

    def test_more_ranks_than_gpus(self):
        found = report("-t", machine("single"), "-n", "3")
        self.assertEqual(set(ways(found).values()), {"GPU"})
        self.assertIsNone(found["ranks"][0]["ports"])
        found = report("-t", machine("dgx"), "-n", "9")
        self.assertEqual(ways(found)[0, 8], "GPU")
        self.assertIn("8 ranks", found["not_fast_because"])

    def test_no_gpu(self):
        found = report("-t", machine("nogpu"), "-n", "4")
        self.assertEqual(found["gpus"], [])
        self.assertEqual([r["ports"] for r in found["ranks"]], ["mlx5_0:1", "mlx5_0:1", "mlx5_1:1", "mlx5_1:1"])
        self.assertEqual(set(ways(found).values()), {"SHM"})
        self.assertIsNone(report("-t", machine("nogpu"), "-n", "4", "-a", "0")["ranks"][0]["ports"])

    def test_cgroup(self):
        found = report("-t", machine("cgroup"))
        self.assertEqual((found["processors"], found["processors_allowed"]), (16, 4))
        self.assertIsNone(found["gpus"][0]["node"])
        self.assertEqual(found["gpus"][5]["node"], 1)

    def test_here(self):
        found = report()
        self.assertGreater(found["processors"], 0)
        self.assertGreater(len(found["ranks"]), 0)
        self.assertIsNone(found["machine"])


class Formats(unittest.TestCase):
    def test_text(self):
        done = run("-t", machine("dgx"), "-v", "2")
        self.assertEqual(done.returncode, 0)
        for line in ("node 1      1008 GiB, processors 8-15",
                     "GPU7        0000:df:00.0  node 1  PCIe 63 GB/s  GH100 [H100 SXM5 80GB]",
                     "   5    0    1 GPU5  1              mlx5_9:1 (PIX)",
                     "   0   - NVL NVL NVL NET NET NET NET"):
            self.assertIn(line + "\n", done.stdout)
        lines = done.stdout.splitlines()
        self.assertIn(["GPU0", "X"] + 7 * ["478"] + "PIX NODE NODE NODE NODE NODE SYS SYS SYS SYS SYS SYS".split(),
                      [line.split() for line in lines])

    def test_svg(self):
        for name, options in (("dgx", []), ("pcie4", ["-H", "2"]), ("cgroup", []), ("single", ["-n", "2"]), ("nogpu", [])):
            done = run("-t", machine(name), "-f", "svg", *options)
            self.assertEqual(done.returncode, 0)
            root = xml.etree.ElementTree.fromstring(done.stdout)
            self.assertEqual(root.tag, SVG + "svg")
            found = report("-t", machine(name), *options)
            texts = [t.text or "" for t in root.iter(SVG + "text")]
            for device in found["gpus"] + found["adapters"]:
                self.assertIn(device["name"], texts)
            n = len(found["ranks"])
            labels = list(ways(found).values())
            for label in set(labels):  # each pair twice, and once in the legend
                self.assertEqual(texts.count(label), 2 * labels.count(label) + 1, (name, label))
            self.assertEqual(texts.count("-"), n)
            for r in root.iter(SVG + "rect"):
                if r.get("x"):
                    self.assertLessEqual(int(r.get("x")) + int(r.get("width")), int(root.get("width")))
                    self.assertLessEqual(int(r.get("y")) + int(r.get("height")), int(root.get("height")))

    def test_picture_in_the_docs(self):
        done = subprocess.run([os.path.abspath(PROGRAM), "-t", "test/topo/machines/dgx.xml", "-v", "2",
                               "-f", "svg"], cwd=TOP,
                              stdout=subprocess.PIPE, text=True, timeout=60)
        with open(os.path.join(TOP, "docs/coll_gpu_info.svg")) as picture:
            self.assertEqual(done.stdout, picture.read())

    def test_output_and_save(self):
        with tempfile.TemporaryDirectory() as folder:
            out, xml_file = os.path.join(folder, "out"), os.path.join(folder, "machine.xml")
            done = run("-t", machine("dgx"), "-o", out, "-s", xml_file)
            self.assertEqual((done.returncode, done.stdout), (0, ""))
            with open(out) as text:
                self.assertIn("GPU7", text.read())
            a, b = report("-t", machine("dgx")), report("-t", xml_file)
            a.pop("machine"), b.pop("machine")
            self.assertEqual(a, b)


class Driver(unittest.TestCase):
    """This machine, as hwloc's environment pretends it, and a pretended NVML."""

    def here(self, name, nvml):
        return {"HWLOC_XMLFILE": machine(name), "FAKE_NVML": nvml, "LD_LIBRARY_PATH": FAKE}

    def test_links_and_closed_gpus(self):
        found = report(env=self.here("pcie4", "pairs"))
        self.assertEqual(found["driver"], "shows 3 GPUs to this process")
        self.assertEqual([g["usable"] for g in found["gpus"]], [True, True, True, False])
        self.assertEqual([g["nvlink_MBs"] for g in found["gpus"]][:2], [[0, 100000, 0, 0], [100000, 0, 0, 0]])
        self.assertEqual(found["gpus"][0]["model"], 'NVIDIA <Fake> & "Sons"')
        self.assertEqual(len(found["ranks"]), 3)
        self.assertEqual(ways(found), {(0, 1): "NVL", (0, 2): "P2P", (1, 2): "P2P"})
        svg = run("-f", "svg", env=self.here("pcie4", "pairs"))
        self.assertIn("100 GB/s", [t.text for t in xml.etree.ElementTree.fromstring(svg.stdout).iter(SVG + "text")])

    def test_save_keeps_links(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "machine.xml")
            self.assertEqual(run("-s", path, env=self.here("pcie4", "pairs")).returncode, 0)
            self.assertEqual(report("-t", path)["gpus"][0]["nvlink_MBs"], [0, 100000, 0, 0])

    def test_gpus_that_only_the_driver_knows(self):
        found = report(env=self.here("nogpu", "switches"))
        self.assertEqual([g["bus_id"] for g in found["gpus"]], ["0000:18:00.0", "0000:2a:00.0"])
        self.assertEqual(found["gpus"][0]["nvlink_MBs"], [0, 12 * 26562])
        self.assertIsNone(found["gpus"][0]["node"])
        self.assertEqual(ways(found), {(0, 1): "NVL"})

    def test_no_answer(self):
        self.assertEqual(report(env=self.here("dgx", "broken"))["driver"], "does not answer")


class Mistakes(unittest.TestCase):
    def fails(self, status, words, *args):
        done = run(*args)
        self.assertEqual(done.returncode, status, args)
        self.assertEqual(done.stdout, "")
        self.assertIn(words, done.stderr)
        self.assertNotIn("Sanitizer", done.stderr)

    def test_files(self):
        self.fails(1, "cannot read /nonexistent.xml: no such file", "-t", "/nonexistent.xml")
        self.fails(1, "no XML file of hwloc", "-t", PROGRAM)
        self.fails(1, "no XML file of hwloc", "-t", TOP)
        self.fails(1, "cannot write /nonexistent/out: No such file", "-t", machine("dgx"), "-o", "/nonexistent/out")
        self.fails(1, "cannot write /nonexistent/out", "-t", machine("dgx"), "-s", "/nonexistent/out")
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as part:
            with open(machine("dgx")) as whole:
                part.write(whole.read()[:9000])
            part.flush()
            self.fails(1, "no XML file of hwloc", "-t", part.name)

    def test_options(self):
        self.fails(64, "--ranks is '0', allowed are 1 to 64", "-n", "0")
        self.fails(64, "--ranks is '4x'", "-n", "4x")
        self.fails(64, "--hosts is '65'", "-H", "65")
        self.fails(64, "--virtual-nodes is '-1'", "--virtual-nodes=-1")
        self.fails(64, "--format is 'png', allowed are text, json and svg", "-f", "png")
        self.fails(64, "'more' is no option", "more")
        self.fails(1, "64 hosts of 8 ranks are more than 64 ranks", "-t", machine("dgx"), "-H", "64")

    def test_full_disk(self):
        if os.path.exists("/dev/full"):
            self.fails(1, "cannot write /dev/full: No space left", "-t", machine("dgx"), "-o", "/dev/full")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
