"""A tool of Familiar: it reads one JSON object from standard input and prints one."""

import html
import json
import sys

given = json.load(sys.stdin)
params = given["params"]  # as the manifest describes them
settings = given["settings"]  # what `familiar tools config` has set
telemetry = given["telemetry"]  # time, place and language; null where they are not known

try:
    text = f"Hello, {params['name']}!"
    if telemetry["city"]:
        text += f" You're in {telemetry['city']}."
    # Inline styles only. What is no plain HTML is taken out before it is shown.
    card = f'<p style="font-size: 1.4rem; margin: 0">{html.escape(text)}</p>'
    print(json.dumps({"text": text, "html": card}))
except Exception as problem:
    print(json.dumps({"error": str(problem)}))
    sys.exit(1)
