/*
 * Counts words. `run` gets the input as an object and returns a text or anything that JSON can hold. It may be async.
 *
 * What is printed is a log, and never the result. A second argument, run(args, context), holds what manifest.json declares:
 * context.secrets.NAME, and context.storage with get, set, delete and keys.
 */
export function run({ text, most = 3 }) {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []
  console.log('looking at', words.length, 'words')
  const counts = new Map()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return { words: words.length, most: [...counts].sort(([, a], [, b]) => b - a).slice(0, most) }
}
