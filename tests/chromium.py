"""A headless Chromium that tests drive, and files that it can ask for."""
import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time


def chromium():
    """The program, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def serve(folder):
    """The address at which the folder's files are, until this program ends."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server that prints no line per file."""

    def log_message(self, *_):
        pass


class Browser:
    """A Chromium that is told what to do by a pipe. What a worker does takes its time, for which `--dump-dom` does not wait."""

    def __init__(self, chromium, folder):
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/profile", "--remote-debugging-pipe"]
        theirs, self.out = os.pipe()
        self.back, ours = os.pipe()

        # It reads from 3 and writes to 4.
        def place():
            kept = os.dup(ours)
            os.dup2(theirs, 3)
            os.dup2(kept, 4)

        self.process = subprocess.Popen([chromium, *flags], preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs)
        os.close(ours)
        self.number, self.rest, self.session = 0, b"", None
        target = self.say("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.say("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def say(self, method, **params):
        """What a command gives."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": params}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.out, json.dumps(command).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                read = os.read(self.back, 1 << 16)
                if not read:
                    sys.exit("Chromium has ended")
                self.rest += read
            message, self.rest = self.rest.split(b"\0", 1)
            message = json.loads(message)
            if message.get("id") == self.number:
                return message.get("result", {})

    def ask(self, script):
        """The value of an expression in the page."""
        return self.say("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)["result"].get("value")

    def open(self, address):
        self.say("Page.navigate", url="about:blank")
        self.say("Page.navigate", url=address)

    def shown(self, expected, seconds=30):
        """Those of the expected texts that the page does not come to show."""
        end = time.monotonic() + seconds
        while True:
            text = re.sub(r"\s+", " ", self.ask("document.body.innerText") or "")
            missing = [one for one in expected if one not in text]
            if not missing or time.monotonic() > end:
                return missing, text
            time.sleep(0.05)

    def close(self):
        """Lets it end by itself: what it has started still writes into its folder when it is killed."""
        os.write(self.out, json.dumps({"id": self.number + 1, "method": "Browser.close"}).encode() + b"\0")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
