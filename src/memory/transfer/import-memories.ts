import type { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { parseAnyJson, parseJson } from '../../base/json.ts'
import type { importReplySchema } from '../../protocol/memory.ts'
import type { Database, Writer } from '../../storage/database.ts'
import type { MemoryRow } from '../../storage/tables.ts'
import { cycleMark, type Memories, pagesOf, selectMemories, writeMark } from '../memories.ts'
import { isRow, type MemoryLabel, type NewMemory } from '../memory.ts'
import { readMarkdownRecords } from './markdown.ts'
import { type FoundRecord, type NumberedLine, numberLines, readPlainNotes } from './plain-notes.ts'
import { contentSchema, headerSchema, parseRecord, type TransferHeader, transferVersion } from './record.ts'
import { type StoredRecord, type Storing, storeRecord } from './store-record.ts'

export interface MemoryImport {
  userId: string
  /** Of a file that `exportMemories` wrote, or of any list of notes in Markdown or plain text. */
  lines: AsyncIterable<string> | Iterable<string>
  /** The user states that they exported it: another installation knew them under another id. */
  isMine?: boolean | undefined
  /** The trust of external data; default `untrusted`. */
  label?: MemoryLabel | undefined
  /** Whether folders in the file are indexed. Otherwise they are only reported: they are read from this machine. */
  addFolders?: boolean | undefined
  signal?: AbortSignal | undefined
  onProgress?: ((progress: { line: number; added: number }) => void) | undefined
}

/** If it was stopped, the imported part is kept. */
export type ImportReport = Omit<z.infer<typeof importReplySchema>, 'format'> & { format: RecognisedFile['format'] }

export type ImportOutcome =
  | { ok: true; report: ImportReport }
  | { ok: false; reason: 'newer_version' | 'not_notes'; message: string }

interface ImportDependencies {
  database: Database
  memories: Memories
  clock: Clock
  addFolder(userId: string, path: string): Promise<{ ok: boolean }>
}

const recordsPerUnit = 50
const maxProblems = 100
const maxFolders = 1_000

/**
 * Adds the content of a file and changes nothing that exists, so that importing twice adds nothing. An unusable line is
 * reported by its number and the rest continues. Only the database can make it reject.
 */
export async function importRecords(dependencies: ImportDependencies, request: MemoryImport): Promise<ImportOutcome> {
  const { database } = dependencies
  const { userId, signal, onProgress } = request
  const report: ImportReport = {
    format: 'plain',
    isOwn: false,
    isFinished: false,
    added: { memories: 0, edges: 0, names: 0 },
    known: 0,
    folders: { added: [], left: [] },
    problems: { count: 0, first: [] },
  }
  try {
    const file = await recogniseFile(request.lines, signal)
    const { format, header } = file
    if (header && header.version > transferVersion) {
      const message = `The file has version ${header.version}; this version of Familiar reads version ${transferVersion}`
      return { ok: false, reason: 'newer_version', message }
    }
    const storing = await beginStoring(dependencies, request, header)
    Object.assign(report, { format, isOwn: storing.isOwn })
    for await (const batch of inBatches(format === 'plain' ? plainTasks(file, storing) : recordTasks(file, storing))) {
      // Counts nothing itself: the unit may have to run again.
      const outcomes = await database.write((writer) => Array.fromAsync(batch, ({ store }) => store?.(writer)))
      for (const [index, item] of batch.entries()) count(item, outcomes[index])
      onProgress?.({ line: batch.at(-1)?.line ?? 0, added: report.added.memories })
    }
    await remapSuccessors(database, storing)
    for (const path of report.folders.left.splice(0)) await takeFolder(path)
    report.isFinished = true
  } catch (error) {
    if (error instanceof NotNotesError) return { ok: false, reason: 'not_notes', message: error.message }
    if (!signal?.aborted) throw error
  }
  return { ok: true, report }

  function count({ line, problem, counts }: ImportTask, outcome: StoredRecord | undefined): void {
    if (outcome === undefined) addProblem(line, problem)
    else if (outcome === 'known') report.known += 1
    else if (counts) report.added[counts] += 1
  }

  function addProblem(line: number, message: string): void {
    report.problems.count += 1
    if (report.problems.first.length < maxProblems) report.problems.first.push({ line, message })
  }

  async function* recordTasks({ format, lines }: RecognisedFile, storing: Storing): AsyncGenerator<ImportTask> {
    for await (const found of format === 'markdown' ? readMarkdownRecords(lines) : readJsonLines(lines)) {
      const { line } = found
      const record = 'problem' in found ? { ok: false as const, message: found.problem } : parseRecord(found.value)
      if (!record.ok) yield { line, problem: record.message }
      else if (record.value.type !== 'folder') {
        const stored = record.value
        const problem = stored.type === 'edge' ? 'links to a memory that does not exist' : ''
        yield { line, problem, counts: counted[stored.type], store: (writer) => storeRecord(writer, storing, stored) }
      } else if (report.folders.left.length < maxFolders) report.folders.left.push(record.value.path)
    }
  }

  async function* plainTasks({ lines }: RecognisedFile, storing: Storing): AsyncGenerator<ImportTask> {
    for await (const { line, content, category, at } of readPlainNotes(lines)) {
      const problem = contentSchema.safeParse(content).error?.issues[0]?.message
      const note: NewMemory = { userId, kind: 'note', content, category, at, source: 'import', label: storing.label }
      const store = async (writer: Writer) =>
        (await storing.memories.addIn(writer, note)).isNew ? ('added' as const) : ('known' as const)
      yield problem ? { line, problem } : { line, problem: '', counts: 'memories', store }
    }
  }

  async function takeFolder(path: string): Promise<void> {
    const isAdded = request.addFolders === true && (await dependencies.addFolder(userId, path)).ok
    report.folders[isAdded ? 'added' : 'left'].push(path)
  }
}

/** The action of one line. Only its problem, if there is nothing to store or storing fails. */
interface ImportTask {
  line: number
  problem: string
  counts?: keyof ImportReport['added']
  store?: (writer: Writer) => Promise<StoredRecord | undefined>
}

const counted = { memory: 'memories', edge: 'edges', alias: 'names', attribute: 'names' } as const

async function beginStoring(
  { database, memories, clock }: ImportDependencies,
  { userId, isMine = false, label = 'untrusted' }: MemoryImport,
  header: TransferHeader | undefined,
): Promise<Storing> {
  const isOwn = header !== undefined && (isMine || header.user === userId)
  const newest = await database.read
    .selectFrom('memories')
    .select(({ fn }) => fn.max('number').as('number'))
    .executeTakeFirst()
  const fileCycles = header?.cycles ?? 0
  let cycles = await memories.cycle(userId)
  if (isOwn && cycles < fileCycles && !(await memories.hasAny(userId))) {
    // A new start: the count continues from the file.
    cycles = fileCycles
    const mark = { userId, name: cycleMark, value: String(cycles), at: clock.now() }
    await database.write((writer) => writeMark(writer, mark))
  }
  return {
    memories,
    userId,
    isOwn,
    label,
    cycleOffset: cycles - fileCycles,
    newestBefore: Number(newest?.number ?? 0),
    newIds: new Map(),
    now: clock.now(),
  }
}

async function* inBatches(tasks: AsyncGenerator<ImportTask>): AsyncGenerator<ImportTask[]> {
  let batch: ImportTask[] = []
  for await (const task of tasks) {
    if (batch.push(task) < recordsPerUnit) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

async function* readJsonLines(lines: AsyncIterable<NumberedLine>): AsyncGenerator<FoundRecord> {
  for await (const { line, text } of lines) {
    if (text.trim() === '') continue
    const parsed = parseAnyJson(text)
    yield parsed.ok ? { line, value: parsed.value } : { line, problem: parsed.message }
  }
}

interface RecognisedFile {
  /** `plain`: not an export; a list of notes from anywhere. */
  format: 'json' | 'markdown' | 'plain'
  header: TransferHeader | undefined
  lines: AsyncGenerator<NumberedLine>
}

/** A file without notes: why, and what to do instead. */
class NotNotesError extends Error {}

/** Recognizes a file by its first nonblank line. Rejects with `NotNotesError` if it is not a list of notes. */
async function recogniseFile(
  given: AsyncIterable<string> | Iterable<string>,
  signal?: AbortSignal,
): Promise<RecognisedFile> {
  const lines = numberLines(given, signal)
  const blank: NumberedLine[] = []
  for (;;) {
    const { value: first, done } = await lines.next()
    if (done) return { format: 'plain', header: undefined, lines: joined(blank, lines) }
    if (first.text.trim() === '') {
      if (blank.length < maxBlank) blank.push(first)
      continue
    }
    const comment = /^<!-- (\{.*\}) -->\s*$/.exec(first.text)?.[1]
    const parsed = parseJson(comment ?? first.text, headerSchema)
    const header = parsed.ok ? parsed.value : undefined
    if (header) return { format: comment === undefined ? 'json' : 'markdown', header, lines }
    const ahead = [first]
    while (ahead.length < linesAhead) {
      const next = await lines.next()
      if (next.done) break
      ahead.push(next.value)
    }
    refuseOthers(ahead.map(({ text }) => text))
    const format = first.text.trimStart().startsWith('{') ? 'json' : 'plain'
    return { format, header, lines: joined([...blank, ...ahead], lines) }
  }
}

/** Enough to recognize a JSON document with one value per line. */
const linesAhead = 400
const charactersAhead = 200_000
const nothingStored = 'Nothing was stored.'
const asText =
  'Copy what you want remembered into a text or Markdown file, one note per line or paragraph, and import that.'

function refuseOthers(lines: readonly string[]): void {
  const text = lines.join('\n').slice(0, charactersAhead)
  const start = text.trimStart()
  const unreadable = text.match(/\ufffd|[\p{Cc}--[\t\n\f\r\v]]/gv)?.length ?? 0
  if (text.includes('\u0000') || start.startsWith('%PDF-') || unreadable > text.length / 20) {
    throw new NotNotesError(`The file is not text, so it is not a list of notes. ${nothingStored} ${asText}`)
  }
  if (!isJsonDocument(start)) return
  const provider = providerOf(start)
  const what = provider ? `an export of conversations from ${provider}` : 'a JSON document'
  throw new NotNotesError(
    `The file is ${what}, not a list of notes: it would become one long note. ${nothingStored} ${asText}`,
  )
}

/** An array, or an object over several lines. An object on one line is a record of an export. */
function isJsonDocument(start: string): boolean {
  const [first = ''] = start.split('\n', 1)
  if (/^\[\s*(?:[{"\]]|-?\d|$)/.test(first))
    return first.length > 1_000 || !/^\[[^\]]*\](?:\(|\s|:|$)/.test(first) || parseAnyJson(first).ok
  return /^\{\s*$/.test(first) || (first.startsWith('{') && providerOf(first) !== undefined)
}

function providerOf(text: string): string | undefined {
  if (/"mapping"\s*:\s*\{/.test(text) && /"(?:current_node|create_time|conversation_id)"\s*:/.test(text))
    return 'ChatGPT'
  if (/"chat_messages"\s*:\s*\[/.test(text)) return 'Claude'
  return undefined
}

/** Leading blank lines are ignored; a file of nothing else must not fill the memory. */
const maxBlank = 1_000

async function* joined(first: NumberedLine[], rest: AsyncGenerator<NumberedLine>): AsyncGenerator<NumberedLine> {
  yield* first
  yield* rest
}

const rowsPerPage = 500

/** Imported history names its replacement: by its new id, if that could not keep its own. */
async function remapSuccessors(
  database: Database,
  { userId, newIds, newestBefore }: { userId: string; newIds: ReadonlyMap<string, string>; newestBefore: number },
): Promise<void> {
  if (newIds.size === 0) return
  const pages = pagesOf<MemoryRow>((last) =>
    selectMemories(database.read, userId)
      .where('number', '>', last?.number ?? newestBefore)
      .where('superseded_by', 'is not', null)
      .orderBy('number')
      .limit(rowsPerPage)
      .execute(),
  )
  for await (const page of pages) {
    await database.write(async (writer) => {
      for (const { id, superseded_by } of page) {
        const successor = newIds.get(superseded_by ?? '')
        if (successor === undefined) continue
        await writer.updateTable('memories').set({ superseded_by: successor }).where(isRow(userId, id)).execute()
      }
    })
  }
}
