#!/usr/bin/env python3
"""Makes measured.js, the labs' kernels of the figure of the roofline, from docs/results. Usage: measured.py [--check]

A kernel is where the results have it: operations per byte as the lab states them, and operations per second as measured. Limits are those
that `harness perf` takes: the best of their samples.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "..", "..", "results")
# The cases of the tables of results.md, and those cards that have a file. `membench` computes nothing.
CASES = [("matadd", "32768x32768"), ("wave2d", "3201x3201"), ("poisson", "512^3"), ("wave3d", "384x384x384"), ("stencil25", "1000x1000x1000")]
CARDS = ["h100", "h200"]


def rounded(value):
    return float(f"{value:.4g}")


def card(name):
    with open(os.path.join(RESULTS, f"{name}.json"), encoding="utf-8") as file:
        document = json.load(file)
    device = document["devices"][0]
    limits = {limit: device["limits"][limit]["best_per_s"] for limit in ["copy", "fp32", "fp64"]}
    labs = {}
    for lab, begin in CASES:
        case = next(case for case in document["cases"] if case["lab"] == lab and case["case"].split(",")[0] == begin)
        ours = [row for row in case["rows"] if row["device"] == "cuda" and row["outcome"] == "timed" and "language" not in row]
        labs[lab] = {
            "case": begin.replace("x", " x "),
            "kernels": [[row["variant"], rounded(row["bound"]["intensity"]), rounded(row["flops"] / row["run"]["median_s"]), rounded(row["bound"]["share"])] for row in ours],
        }
    return {"name": device["info"]["name"].removeprefix("NVIDIA "), "limits": limits, "labs": labs}


def main():
    cards = {name: card(name) for name in CARDS}
    # A line per lab, so that a change of one is seen.
    body = json.dumps(cards).replace(', "labs": {', ',\n  "labs": {\n    ').replace("]]}, ", "]]},\n    ").replace("}}}, ", "}}},\n")
    text = f"// Made by measured.py from docs/results: variant, operations / byte, operations / s, share of the limit.\ninteractive.measured = {body};\n"
    path = os.path.join(HERE, "measured.js")
    if sys.argv[1:] == ["--check"]:
        with open(path, encoding="utf-8") as file:
            if file.read() != text:
                sys.exit("measured.js is not made from docs/results as they are: run docs/figures/live/measured.py")
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


main()
