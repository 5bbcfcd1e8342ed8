#!/usr/bin/env python3
"""Makes a perf JSON small enough to commit: `compact.py FULL.json > docs/results/DEVICE.json`.

It keeps every sample. It drops the traces of clocks and power, leaves six digits of each number, and names the program
without its folder.
"""

import json
import os
import sys


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return value


with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
for case in document["cases"]:
    case["traces"] = []
program, *arguments = document["command_line"]
named = [it.split("=")[0] + "=" + os.path.basename(it) if "=/" in it else it for it in arguments]
document["command_line"] = [os.path.basename(program), *named]
text = json.dumps(rounded(document), separators=(",", ":"))
# A line per row, so that a change of one is seen.
print(text.replace('{"device":', '\n{"device":'))
