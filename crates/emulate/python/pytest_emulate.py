"""Faults of GPU kernels, as failures of the test that has launched them.

pytest finds this plugin in the environment that the wheel of `emulate` is installed in, and it does something only where
`emulate -- pytest` runs. A launch with a fault that a GPU notices is then skipped, as by `--after-fault=continue`, so that one
test's fault is not that of all later tests; `--after-fault=stop` before the `--` leaves it to the GPU's way.

A kernel is emulated when it is launched, so that a fault belongs to the test (its setup, call or teardown) that runs then. A
worker of pytest-xdist takes the faults of its own process alone, since all workers have one record.
"""
import json
import os

import pytest

# What begins the record: the counters of its lines and launches.
HEADER_BYTES = 4096


class Record:
    """The record of the emulated driver, as far as it was read."""

    def __init__(self, name):
        inode, _, path = name.partition(":")
        own = os.path.join("/proc/self/fd", os.path.basename(path))
        # The path is of the process `emulate`; a process that may not look into it has the descriptor itself.
        self.paths, self.inode, self.read = (path, own), int(inode), HEADER_BYTES

    def lines(self):
        """What was recorded since, as text."""
        for path in self.paths:
            try:
                with open(path, "rb") as file:
                    if os.fstat(file.fileno()).st_ino != self.inode:
                        continue
                    file.seek(self.read)
                    whole, newline, _ = file.read().rpartition(b"\n")
            except OSError:
                continue
            self.read += len(whole) + len(newline)
            return whole.splitlines()
        raise pytest.UsageError("the record of `emulate` cannot be read: run pytest as the user who runs `emulate`")

    def faults(self):
        """The texts of the faults since, each once."""
        alone = "PYTEST_XDIST_WORKER" in os.environ
        found = []
        for line in self.lines():
            record = json.loads(line)
            is_fault = record["record"] in ("fault", "again")
            if is_fault and (not alone or record["process"] == os.getpid()) and record["text"] not in found:
                found.append(record["text"])
        return found


class Plugin:
    def __init__(self, record):
        self.record = record

    def phase(self, item, when):
        """Runs a phase of a test; with faults it has failed, whatever the test itself says."""
        self.record.faults()
        try:
            result = yield
        except BaseException:
            faults = self.record.faults()
            if faults:
                item.add_report_section(when, "emulated GPU", "\n".join(faults))
            raise
        faults = self.record.faults()
        if faults:
            pytest.fail("\n".join(faults), pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item):
        return (yield from self.phase(item, "setup"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        return (yield from self.phase(item, "call"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item):
        return (yield from self.phase(item, "teardown"))

    def pytest_report_header(self):
        return "emulated GPU: faults of kernels are failures of the test that launches them"


def pytest_configure(config):
    name = os.environ.get("EMULATED_DRIVER_RECORD")
    if name:
        # The driver reads both when it is started. What the flags of `emulate` say comes first.
        os.environ["EMULATED_DRIVER_EACH"] = "1"
        os.environ.setdefault("EMULATED_DRIVER_AFTER_FAULT", "continue")
        config.pluginmanager.register(Plugin(Record(name)), "emulate-faults")
