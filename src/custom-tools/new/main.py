"""Counts words. `run` gets the input as a dict and returns a text or anything that JSON can hold.

What is printed is a log, and never the result. With a second parameter, run(args, context), it also gets what manifest.json
declares: context.secrets["NAME"], and context.storage with get, set, delete and keys.
"""

import re
from collections import Counter


def run(args):
    words = re.findall(r"\w+", args["text"].lower())
    print("looking at", len(words), "words")
    most = Counter(words).most_common(args.get("most", 3))
    return {"words": len(words), "most": most}
