import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import { replaceFile } from '../../base/safe-file.ts'

const entrySchema = z.string()
const mostEntries = 1_000
/** A paste of thousands of lines is a document, not something to type again. */
const longestEntry = 10_000

/** What was typed at this home's terminals, the newest first, in a file that its user alone can read. */
export interface ChatHistory {
  entries: readonly string[]
  /** Kept in the order of the calls. A disk that is full loses the entry and nothing else. */
  add(text: string): Promise<void>
}

export async function openChatHistory(homePath: string): Promise<ChatHistory> {
  const path = join(homePath, 'terminal-history.jsonl')
  const entries = await readEntries(path)
  let writing: Promise<void> = Promise.resolve()

  /** Read again before each write: another terminal may have written since. */
  async function write(text: string): Promise<void> {
    const kept = [text, ...(await readEntries(path)).filter((entry) => entry !== text)].slice(0, mostEntries)
    const lines = kept.toReversed().map((entry) => `${JSON.stringify(entry)}\n`)
    await replaceFile(path, lines.join('')).catch(() => undefined)
  }

  return {
    entries,
    add(text) {
      if (text.trim() === '' || text.length > longestEntry) return writing
      writing = writing.then(() => write(text))
      return writing
    },
  }
}

async function readEntries(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text
    .split('\n')
    .flatMap((line) => {
      const entry = parseJson(line, entrySchema)
      return entry.ok ? [entry.value] : []
    })
    .slice(-mostEntries)
    .toReversed()
}
