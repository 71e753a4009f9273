// Letters of the scripts that are written without spaces between words, and Hangul, whose words take endings. A letter
// keeps the marks that stand on it.
const letter =
  /[[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]&&\p{L}]\p{M}*/gv

/** Sets the letters of unspaced scripts apart, so that each is a word to a tokenizer that knows of spaces only. */
export function spaceOut(text: string): string {
  return text.replace(letter, ' $& ')
}

/** True where the script does not show where a word begins and ends. */
export function isUnspaced(text: string): boolean {
  return text.search(letter) >= 0
}

/**
 * A word as what to search for: itself, or, in an unspaced script, every two letters that stand side by side, for nobody
 * can tell which of them are a word. A single letter is one.
 */
export function toSearchable(word: string): string[] {
  if (!isUnspaced(word)) return [word]
  const pieces: string[] = []
  let run: string[] = []
  const endRun = () => {
    if (run.length === 1) pieces.push(run[0] ?? '')
    for (let at = 1; at < run.length; at += 1) pieces.push(`${run[at - 1]}${run[at]}`)
    run = []
  }
  let end = 0
  for (const { 0: found, index } of word.matchAll(letter)) {
    if (index > end) {
      endRun()
      pieces.push(word.slice(end, index))
    }
    run.push(found)
    end = index + found.length
  }
  endRun()
  if (end < word.length) pieces.push(word.slice(end))
  return pieces
}
