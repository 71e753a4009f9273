import type { Clock } from '../../base/clock.ts'
import { sha256 } from '../../base/ids.ts'
import { createMatcher, formsIn, hasEveryWord, type Snippet, snippetOf } from '../../storage/snippets.ts'
import type { Finders } from './finders.ts'
import type { Assets } from './open-assets.ts'

/** The limits of a search of texts. Files near the root of the workspace come first. */
const maxFiles = 1_000
const maxCharacters = 200_000
const maxInAll = 20_000_000
/** Older texts are read again in the background, after the answer. */
const freshMs = 5_000
const maxKnown = 2_000

export interface FoundFile {
  /** Names the file in `text`: no caller names a path (SEC-4). */
  id: string
  name: string
  reference: string
  snippet: Snippet
  words: string[]
}

interface ReadFile {
  name: string
  reference: string
  text: string
}

export type FileTexts = ReturnType<typeof createFileTexts>

/**
 * Finds files by their names and, up to limits, by their texts. The texts are read when first searched and kept for the
 * next letters of the query; there is no index of them on the disk.
 */
export function createFileTexts(dependencies: {
  finders: Pick<Finders, 'find'>
  assets: Pick<Assets, 'load'>
  clock: Clock
}) {
  const { finders, assets, clock } = dependencies
  const users = new Map<string, { files: readonly ReadFile[]; at: number; reading: Promise<void> | undefined }>()
  /** The files that were found, under their ids. */
  const known = new Map<string, { userId: string; name: string; reference: string }>()

  async function read(userId: string): Promise<void> {
    const { found } = await finders.find({ userId, kind: 'file', query: '', limit: maxFiles })
    const files: ReadFile[] = []
    let left = maxInAll
    for (const { name, reference } of found) {
      if (left <= 0) break
      const loaded = await load(userId, reference)
      if (!loaded) continue
      const text = loaded.slice(0, maxCharacters)
      left -= text.length
      files.push({ name, reference, text })
    }
    users.set(userId, { files, at: clock.now(), reading: undefined })
  }

  /** Undefined for a file that is no text, too large or gone. */
  async function load(userId: string, reference: string): Promise<string | undefined> {
    const path = reference.slice(1).replace(/^(["'])(.*)\1$/s, '$2')
    const loaded = await assets.load({ userId, author: 'user', agent: 'main', trust: 'owner' }, { path })
    return loaded.ok ? loaded.content : undefined
  }

  async function textsOf(userId: string): Promise<readonly ReadFile[]> {
    const state = users.get(userId) ?? { files: [], at: Number.NEGATIVE_INFINITY, reading: undefined }
    users.set(userId, state)
    if (clock.now() - state.at > freshMs) {
      state.reading ??= read(userId).catch(() => {
        state.reading = undefined
      })
      if (state.at === Number.NEGATIVE_INFINITY) await state.reading
    }
    return users.get(userId)?.files ?? []
  }

  function found(userId: string, { name, reference }: Omit<ReadFile, 'text'>, text: string, words: string[]) {
    const id = sha256(`${userId}\n${reference}`).slice(0, 32)
    known.delete(id)
    known.set(id, { userId, name, reference })
    for (const oldest of known.keys()) {
      if (known.size <= maxKnown) break
      known.delete(oldest)
    }
    return { id, name, reference, snippet: { text, marks: [] }, words }
  }

  return {
    async search(query: { userId: string; words: string; limit: number; isTyping: boolean }): Promise<FoundFile[]> {
      const { userId, words, limit, isTyping } = query
      const byName = await finders.find({ userId, kind: 'file', query: words, limit })
      const sought = words.toLowerCase().split(/\s+/)
      const files = new Map<string, FoundFile>()
      for (const file of byName.found) files.set(file.reference, found(userId, file, '', sought))
      if (files.size < limit) {
        const isWanted = hasEveryWord(words, { isTyping })
        const find = createMatcher(words, { isTyping })
        for (const file of await textsOf(userId)) {
          if (files.size >= limit) break
          if (files.has(file.reference) || !isWanted(file.text)) continue
          const snippet = snippetOf(file.text, find)
          files.set(file.reference, { ...found(userId, file, '', formsIn(file.text, find)), snippet })
        }
      }
      return [...files.values()]
    },
    /** The text of a file that was found before; undefined if it is no text or was not found. */
    async text(userId: string, id: string): Promise<{ name: string; reference: string; text: string } | undefined> {
      const file = known.get(id)
      if (file?.userId !== userId) return undefined
      const text = await load(userId, file.reference)
      return text === undefined ? undefined : { name: file.name, reference: file.reference, text }
    },
  }
}
