"""Fetches wheels, unpacks and compiles them, and writes every file to standard output: one line of JSON, then its bytes.

Runs in a sandbox with a network that leads to the index of packages and nowhere else. Nothing of the packages is run:
only wheels are taken, which need no building.
"""

import compileall
import json
import os
import py_compile
import subprocess
import sys
import zlib

TARGET = "/tmp/packages"


def fail(message):
    print(json.dumps({"error": message[-2000:]}))
    sys.exit(0)


def main():
    given = json.load(sys.stdin)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--no-cache-dir", "--no-compile"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:", "--target", TARGET]
    done = subprocess.run(command + given["arguments"] + given["requirements"], stdout=sys.stderr, stderr=subprocess.PIPE)
    if done.returncode != 0:
        fail(done.stderr.decode(errors="replace").strip() or "pip failed with exit code %d" % done.returncode)

    # Not by time: the files get another one where they are kept.
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    compileall.compile_dir(TARGET, quiet=2, invalidation_mode=mode, stripdir=TARGET, prependdir=given["place"])

    out = sys.stdout.buffer
    for folder, _, names in sorted(os.walk(TARGET)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                content = file.read()
            packed = zlib.compress(content, 1)
            header = {"path": os.path.relpath(path, TARGET), "size": len(content), "packed": len(packed)}
            out.write(json.dumps(header).encode() + b"\n" + packed)
    out.write(b'{"end": true}\n')


main()
