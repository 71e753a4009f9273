#!/usr/bin/env bash
# Counts a text. "input": "stdin" in the manifest: the payload comes on standard input, where no length bounds it.
set -euo pipefail

jq '
  def plural($one): "\(.) \($one)\(if . == 1 then "" else "s" end)";

  .params.text as $text
  | .params.words_per_minute as $speed
  | if $speed < 1 then { error: "words_per_minute must be 1 or more" }
    else
      ([$text | match("[\\p{L}\\p{N}]+([\u0027’-][\\p{L}\\p{N}]+)*"; "g").string]) as $words
      | ([$text | match("[^.!?…。]*[\\p{L}\\p{N}][^.!?…。]*"; "g")] | length) as $sentences
      | ($words | length) as $count
      | (($count / $speed * 60) | ceil) as $seconds
      | (if $seconds < 60 then $seconds | plural("second") else ($seconds / 60 | round | plural("minute")) end) as $time
      | ($words | map(ascii_downcase | select(length > 3)) | group_by(.) | map({ word: .[0], times: length })
          | map(select(.times > 1)) | sort_by([-.times, .word]) | .[:5]) as $frequent
      | ($frequent | map("\(.word) (\(.times))") | join(", ")) as $named
      | {
          text: (
            "\($count | plural("word")), \($sentences | plural("sentence")), \($text | length | plural("character"))."
            + " It takes about \($time) to read."
            + (if $named == "" then "" else " Most frequent: \($named)." end)
          ),
          html: (
            "<table style=\"border-spacing:12px 4px\">"
            + ([["Words", $count], ["Sentences", $sentences], ["Characters", ($text | length)], ["To read", $time]]
                | map("<tr><td style=\"color:#666\">\(.[0])</td><td><b>\(.[1])</b></td></tr>") | join(""))
            + (if $named == "" then "" else "<tr><td style=\"color:#666\">Frequent</td><td>\($named | @html)</td></tr>" end)
            + "</table>"
          )
        }
    end
'
