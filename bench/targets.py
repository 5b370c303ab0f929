# SPDX-License-Identifier: BSD-3-Clause
"""What allreduce between 2 x H200 (NVLink, one process per GPU) has to reach, and how figures are judged."""
import collections

KI, MI, GI = 1 << 10, 1 << 20, 1 << 30

Target = collections.namedtuple("Target", "must goal ceiling")  # us; ceiling: the best prototype measured there
ALLREDUCE = {
    8: Target(6.0, 4.6, 3.5), KI: Target(6.2, 4.8, 3.9), 16 * KI: Target(7, 5.5, 4.6), 64 * KI: Target(7.5, 5.6, 4.4),
    256 * KI: Target(8.5, 6.8, 5.4), MI: Target(12, 9.5, 8.0), 4 * MI: Target(25, 20, 17.6),
    8 * MI: Target(40, 33, 30.5), 32 * MI: Target(120, 105, 102), 128 * MI: Target(400, 370, 366),
    512 * MI: Target(1530, 1410, 1399), GI: Target(3000, 2790, 2771),
}
OVERLAP = {MI: 57, 8 * MI: 80, 64 * MI: 93}  # percent, coll/ucc with NCCL, measured there

Best = collections.namedtuple("Best", "best worst runs")


def best_of(runs):
    """{bytes: Best} of several {bytes: us}; a size counts in the runs that have it."""
    return {size: Best(min(us), max(us), len(us)) for size in sorted({s for run in runs for s in run})
            for us in [[run[size] for run in runs if size in run]]}


def verdict(value, must, goal):
    """'goal' or 'must': what is reached; 'MISS'."""
    if goal is not None and value <= goal:
        return "goal"
    return "must" if value <= must else "MISS"


def sizes_to_check(points, element=4):
    """Every power of two from one element to 1 GiB, and one element around every switch point. Ascending."""
    powers = {element << i for i in range((GI // element).bit_length())}
    around = {p // element * element + d for p in points for d in (-element, 0, element)}
    return sorted(powers | {s for s in around if element <= s <= GI})
