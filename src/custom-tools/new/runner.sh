#!/usr/bin/env bash
# A tool of Familiar: it reads one JSON object from standard input and prints one.
set -euo pipefail

given=$(cat)
# .params as the manifest describes them, .settings as `familiar tools config` has set them, and .telemetry: time, place
# and language, null where they are not known.
name=$(jq -r '.params.name' <<<"$given")
city=$(jq -r '.telemetry.city // ""' <<<"$given")

text="Hello, $name!"
[ -z "$city" ] || text="$text You're in $city."

# Inline styles only. What is no plain HTML is taken out before it is shown.
jq -n --arg text "$text" \
  '{text: $text, html: ("<p style=\"font-size: 1.4rem; margin: 0\">" + ($text | @html) + "</p>")}'
