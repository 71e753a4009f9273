#!/usr/bin/env bash
set -euo pipefail

# The whole request comes as one argument: JSON in base64.
request=$(printf %s "$1" | base64 -d)
field() { printf %s "$request" | jq -r "$1 // \"\""; }

name=$(field .params.name)
city=$(field .telemetry.city)
time=$(field .telemetry.time)

text="Hello, ${name:-World}!"
if [ -n "$city" ]; then text="$text You're in $city."; fi

# The card: a fragment with inline styles, and nothing that runs.
html=$(
  jq -nr --arg name "${name:-World}" --arg city "$city" --arg time "$time" '
    def line($style; $text): if $text == "" then "" else "<div style=\"\($style)\">\($text | @html)</div>" end;
    "<div style=\"padding:16px;font-family:sans-serif\">"
    + line("font-size:1.4rem;font-weight:600;margin-bottom:8px"; "Hello, \($name)!")
    + line("color:#666;margin-bottom:4px"; if $city == "" then "" else "📍 \($city)" end)
    + line("color:#999;font-size:0.85rem"; $time)
    + "</div>"
  '
)

jq -n --arg text "$text" --arg html "$html" '{text: $text, html: $html}'
