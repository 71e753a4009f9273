import type { Clock } from '../../base/clock.ts'
import type { Database, Writer } from '../../storage/database.ts'
import { cycleMark, type Memories } from '../memories.ts'
import type { MemoryLabel } from '../memory.ts'
import { checkContent } from '../memory-content.ts'
import { readPlainNotes } from './read-plain-notes.ts'
import { type RecognisedFile, readRecords, recogniseFile } from './recognise-file.ts'
import { parseRecord, type TransferHeader, type TransferRecord, transferVersion } from './record.ts'
import { remapSuccessors } from './remap-successors.ts'
import { type StoredRecord, type Storing, storeAlias, storeAttribute, storeEdge, storeMemory } from './store-record.ts'

export interface MemoryImport {
  userId: string
  /** Of a file that `exportMemories` wrote, or of any list of notes in Markdown or plain text. */
  lines: AsyncIterable<string> | Iterable<string>
  /** The user says that they exported it themself: another installation knew them under another id. */
  isMine?: boolean | undefined
  /** How far what comes from elsewhere is trusted: `untrusted` where nothing is said. */
  label?: MemoryLabel | undefined
  /** Whether folders that the file names are indexed. Otherwise they are only told: they are read from this machine. */
  addFolders?: boolean | undefined
  signal?: AbortSignal | undefined
  onProgress?: ((progress: { line: number; added: number }) => void) | undefined
}

export interface ImportReport {
  format: RecognisedFile['format']
  /** It was exported for the same user: sources, labels and conversations stay what they were. */
  isOwn: boolean
  /** False where it was stopped: what was read until then is kept, and the same file again completes it. */
  isFinished: boolean
  added: { memories: number; edges: number; names: number }
  /** What was there already. */
  known: number
  folders: { added: string[]; left: string[] }
  /** How many lines were passed over, and the first of them. */
  problems: { count: number; first: { line: number; message: string }[] }
}

export type ImportOutcome = { ok: true; report: ImportReport } | { ok: false; reason: 'newer_version'; message: string }

interface ImportDependencies {
  database: Database
  memories: Memories
  clock: Clock
  addFolder(userId: string, path: string): Promise<{ ok: boolean }>
}

const recordsPerUnit = 50
const mostProblems = 100
const mostFolders = 1_000

/**
 * Adds what a file holds and changes nothing that is there, so that the same file twice adds nothing. A line that cannot be
 * used is told by its number and the rest goes on. Only the database can make it reject.
 */
export async function importMemories(dependencies: ImportDependencies, request: MemoryImport): Promise<ImportOutcome> {
  const { database } = dependencies
  const { userId, signal, onProgress } = request
  const report = newReport()
  try {
    const file = await recogniseFile(request.lines, signal)
    const { format, header } = file
    if (header && header.version > transferVersion) {
      const message = `The file has version ${header.version}; this Familiar reads version ${transferVersion}`
      return { ok: false, reason: 'newer_version', message }
    }
    const storing = await beginStoring(dependencies, request, header)
    Object.assign(report, { format, isOwn: storing.isOwn })
    for await (const batch of inBatches(format === 'plain' ? plainTasks(file, storing) : recordTasks(file, storing))) {
      const outcomes = await database.write((writer) => storeBatch(writer, batch))
      for (const [index, item] of batch.entries()) count(item, outcomes[index])
      onProgress?.({ line: batch.at(-1)?.line ?? 0, added: report.added.memories })
    }
    await remapSuccessors(database, storing)
    for (const path of report.folders.left.splice(0)) await takeFolder(path)
    report.isFinished = true
  } catch (error) {
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
    if (report.problems.first.length < mostProblems) report.problems.first.push({ line, message })
  }

  async function* recordTasks(file: RecognisedFile, storing: Storing): AsyncGenerator<ImportTask> {
    for await (const found of readRecords(file)) {
      const { line } = found
      const record = 'problem' in found ? { ok: false as const, message: found.problem } : parseRecord(found.value)
      if (!record.ok) yield { line, problem: record.message }
      else if (record.value.type !== 'folder') yield taskOf(line, storing, record.value)
      else if (report.folders.left.length < mostFolders) report.folders.left.push(record.value.path)
    }
  }

  async function* plainTasks({ lines }: RecognisedFile, storing: Storing): AsyncGenerator<ImportTask> {
    for await (const { line, content, category, at } of readPlainNotes(lines)) {
      const problem = problemWith(content)
      const note = {
        userId,
        kind: 'note' as const,
        content,
        category,
        at,
        source: 'import' as const,
        label: storing.label,
      }
      if (problem) yield { line, problem }
      else {
        yield {
          line,
          problem: '',
          counts: 'memories',
          store: async (writer) => ((await storing.memories.addIn(writer, note)).isNew ? 'added' : 'known'),
        }
      }
    }
  }

  async function takeFolder(path: string): Promise<void> {
    const isAdded = request.addFolders === true && (await dependencies.addFolder(userId, path)).ok
    report.folders[isAdded ? 'added' : 'left'].push(path)
  }
}

/** What one line leads to. Nothing but its problem, where there is nothing to store or storing finds that it cannot. */
interface ImportTask {
  line: number
  problem: string
  counts?: keyof ImportReport['added']
  store?: (writer: Writer) => Promise<StoredRecord | undefined>
}

function taskOf(line: number, storing: Storing, record: Exclude<TransferRecord, { type: 'folder' }>): ImportTask {
  switch (record.type) {
    case 'memory':
      return { line, problem: '', counts: 'memories', store: (writer) => storeMemory(writer, storing, record) }
    case 'edge': {
      const problem = 'joins a memory that is not there'
      return { line, problem, counts: 'edges', store: (writer) => storeEdge(writer, storing, record) }
    }
    case 'alias':
      return { line, problem: '', counts: 'names', store: (writer) => storeAlias(writer, storing, record) }
    case 'attribute':
      return { line, problem: '', counts: 'names', store: (writer) => storeAttribute(writer, storing, record) }
  }
}

async function beginStoring(
  { database, memories, clock }: ImportDependencies,
  { userId, isMine = false, label = 'untrusted' }: MemoryImport,
  header: TransferHeader | undefined,
): Promise<Storing> {
  const isOwn = header !== undefined && (isMine || header.user === userId)
  const newest = await database.read
    .selectFrom('memories')
    .select('number')
    .orderBy('number', 'desc')
    .limit(1)
    .execute()
  const own = await database.read.selectFrom('memories').select('id').where('user_id', '=', userId).limit(1).execute()
  const fileCycles = header?.cycles ?? 0
  let cycles = await memories.cycle(userId)
  if (isOwn && own.length === 0 && cycles < fileCycles) {
    // A new beginning: the count goes on where it was.
    cycles = fileCycles
    const mark = { value: String(cycles), updated_at: clock.now() }
    await database.write(async (writer) => {
      await writer
        .insertInto('memory_marks')
        .values({ user_id: userId, name: cycleMark, ...mark })
        .onConflict((conflict) => conflict.columns(['user_id', 'name']).doUpdateSet(mark))
        .execute()
    })
  }
  return {
    memories,
    userId,
    isOwn,
    label,
    cycleOffset: cycles - fileCycles,
    newestBefore: newest[0]?.number ?? 0,
    newIds: new Map(),
    now: clock.now(),
  }
}

/** Tells what became of each, and counts nothing itself: the unit may have to run again. */
async function storeBatch(writer: Writer, batch: readonly ImportTask[]): Promise<(StoredRecord | undefined)[]> {
  const outcomes: (StoredRecord | undefined)[] = []
  for (const { store } of batch) outcomes.push(await store?.(writer))
  return outcomes
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

function problemWith(content: string): string | undefined {
  try {
    checkContent(content)
    return undefined
  } catch (cause) {
    return cause instanceof Error ? cause.message : 'does not fit'
  }
}

function newReport(): ImportReport {
  return {
    format: 'plain',
    isOwn: false,
    isFinished: false,
    added: { memories: 0, edges: 0, names: 0 },
    known: 0,
    folders: { added: [], left: [] },
    problems: { count: 0, first: [] },
  }
}
