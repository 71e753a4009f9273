import type { Database } from '../../storage/database.ts'
import type { Memories } from '../memories.ts'
import { headerText, itemText, sections } from './markdown-text.ts'
import { readAliases, readAttributes, readEdges, readMemories, readMemoriesByDay } from './read-records.ts'
import { type TransferHeader, transferVersion, type WrittenRecord } from './record.ts'
import type { Reading } from './written-memory.ts'

export type ExportFormat = 'json' | 'markdown'

export interface MemoryExport {
  userId: string
  /**
   * `json`: JSON lines, complete. `markdown`: to be read by people; of the time of a memory it keeps the day, and nothing
   * of its use and of the conversation that it came from.
   */
  format: ExportFormat
  signal?: AbortSignal | undefined
}

/**
 * Everything that is remembered for one user, line by line, in an order that depends on nothing but what is in it. What was
 * forgotten is not in it, also where that could still be undone. Of indexed files it names the folders.
 *
 * It never holds more than a page of rows. What changes meanwhile is in it or not.
 */
export async function* exportMemories(
  dependencies: {
    database: Database
    memories: Memories
    /** The folders and files that the user had indexed. */
    folders(userId: string): Promise<readonly string[]>
  },
  { userId, format, signal }: MemoryExport,
): AsyncGenerator<string> {
  const { database, memories } = dependencies
  const reading: Reading = { database, userId, rowsPerPage: 500 }
  const header: TransferHeader = {
    familiar: 'memories',
    version: transferVersion,
    user: userId,
    cycles: await memories.cycle(userId),
  }
  for await (const line of format === 'json' ? jsonLines() : markdownLines()) {
    signal?.throwIfAborted()
    yield line
  }

  /** Names and attributes first: whoever reads the facts that follow knows what they mean. */
  async function* jsonLines(): AsyncGenerator<string> {
    yield JSON.stringify(header)
    for (const records of [readAttributes, readAliases, readFolders, readMemories, readEdges]) {
      for await (const record of records(reading)) yield JSON.stringify(record)
    }
  }

  async function* markdownLines(): AsyncGenerator<string> {
    yield headerText({ ...header, cycles: 0 })
    yield '# Memories'
    for (const { title, holds } of sections) {
      let isFirst = true
      for await (const record of recordsOf(holds)) {
        if (isFirst) yield* ['', `## ${title}`, '']
        isFirst = false
        yield* itemText(record)
      }
    }
  }

  function recordsOf(holds: (typeof sections)[number]['holds']): AsyncGenerator<WrittenRecord> {
    switch (holds) {
      case 'alias':
        return readAliases(reading)
      case 'attribute':
        return readAttributes(reading)
      case 'edge':
        return readEdges(reading)
      case 'folder':
        return readFolders()
      default:
        return readMemoriesByDay(reading, holds)
    }
  }

  async function* readFolders(): AsyncGenerator<WrittenRecord> {
    for (const path of await dependencies.folders(userId)) yield { type: 'folder', path }
  }
}
