import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { writeFileAtomically } from '../../base/files.ts'
import { formatBytes, formatCount, formatTime, plural } from '../../base/text.ts'
import { splitLines } from '../../memory/transfer/plain-notes.ts'
import {
  aliases,
  type GraphReply,
  graph,
  type ImportReply,
  type MemoryReply,
  type MemoryStatsReply,
  memories,
  roots,
  type SyncReply,
  type TroubleReply,
} from '../../protocol/memory.ts'
import {
  askUser,
  type CommandContext,
  CommandError,
  type CommandHandler,
  confirm,
  exitCodes,
  interrupted,
  isConfirmed,
  readStandardInput,
  usageError,
  whyUnreadable,
} from '../command.ts'
import { type Answer, type Api, apiCommand, findSession, withApi, withFamiliar } from '../connect.ts'
import type { Output } from '../output.ts'
import { exactly, formatMemoryDay, kindName, shortText, watchProgress } from './memory.ts'

export const undoChange: CommandHandler<{ change?: string; list?: boolean }> = async (context, input) => {
  if (input.list) {
    if (input.change) throw usageError('--list takes no change.')
    return listChanges(context, input)
  }
  // Chosen once: a retry after a lost connection must not undo another change.
  let chosen = input.change
  const { change } = await withApi(context, memories, async (api) => {
    chosen ??= (await api.changes({ limit: 1 })).changes[0]?.id
    if (chosen === undefined) throw new CommandError('There is nothing to undo.', { code: 'not_found' })
    return api.undo({ change: chosen })
  })
  const state = change.action === 'forgotten' ? 'Known again' : 'As it was'
  return context.output.report(input.json, { change }, `${state}: ${shortText(change.before)}`)
}

const listChanges = apiCommand(
  memories,
  (api) => api.changes({ limit: 500 }),
  (reply) => ({
    empty: 'There is nothing to undo.',
    header: ['When', 'What', 'By', 'Change', 'Before'],
    rows: reply.changes.map(({ at, action, made_by, id, before }) => [
      formatTime(at),
      action,
      made_by === 'user' ? 'you' : 'Familiar',
      id,
      shortText(before),
    ]),
  }),
)

export const consolidate: CommandHandler<{ session?: string }> = async (context, input) => {
  const { output } = context
  const reply = await watchProgress(context, {
    describe: ({ done, total, session }) => `${done + 1} of ${total}: ${session ?? 'files'}`,
    stopped: 'Stopped. The written memories stay; run the command again to continue.',
    async work(client, watched) {
      const session = input.session === undefined ? undefined : (await findSession(client, input.session)).id
      return client.watch(memories.consolidate, { session }, watched)
    },
  })
  output.report(input.json, reply, () => {
    const { added } = reply
    const what = [
      plural(added.episodes, 'episode'),
      plural(added.facts, 'fact'),
      plural(added.commitments, 'commitment'),
      plural(added.aliases, 'name'),
    ]
    output.print(
      `${plural(reply.sessions, 'session')} and ${plural(reply.files, 'file')} read: ${what.join(', ')} added.`,
    )
    for (const { session_id, message } of reply.problems) {
      output.note(`Not consolidated: ${session_id ? `session ${session_id}` : 'a file'}: ${message}`)
    }
    if (reply.problems.some(({ reason }) => reason === 'no_model'))
      output.note(`A model is chosen with: ${output.commandLine('setup')}`)
  })
  return reply.problems.length === 0 ? exitCodes.fine : exitCodes.failed
}

/** To a file that is complete or absent, or to standard output. */
export const exportMemories: CommandHandler<{ file?: string; format: 'jsonl' | 'markdown' }> = async (
  context,
  input,
) => {
  const { output, signal } = context
  const path = input.file === undefined ? undefined : resolve(input.file)
  let isStarted = false
  const bytes = await withFamiliar(
    context,
    async (client) => {
      // Output that was already printed cannot be restarted.
      if (isStarted) throw new CommandError('Familiar stopped during the export.', { code: 'interrupted' })
      isStarted = path === undefined
      return write(context, client.bytes(memories.export, { format: input.format }, signal), path)
    },
    { endsOnAbort: true },
  ).catch((error: unknown) => {
    throw signal.aborted ? interrupted() : error
  })
  if (path === undefined) return undefined
  return output.report(
    input.json,
    { path, bytes, format: input.format },
    `${path}: ${formatBytes(bytes)}. In again: ${output.commandLine(`memory import ${path}`)}`,
  )
}

async function write(
  context: CommandContext,
  chunks: AsyncIterable<Uint8Array>,
  path: string | undefined,
): Promise<number> {
  let bytes = 0
  const counted = async function* () {
    for await (const chunk of chunks) {
      bytes += chunk.byteLength
      yield chunk
    }
  }
  if (path !== undefined) await writeFileAtomically(path, counted()).catch((cause) => explain(cause, path))
  else await print(context, counted())
  return bytes
}

async function print({ output, stdout }: CommandContext, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  // Memories must not send control characters to a terminal.
  if (output.isTerminal) for await (const line of splitLines(chunks)) output.print(line)
  else for await (const chunk of chunks) if (!stdout.write(chunk)) await once(stdout, 'drain')
}

function explain(cause: unknown, path: string): never {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const reason = reasons[code]
  throw reason ? new CommandError(`Cannot write ${path}: ${reason}`, { cause }) : cause
}

const reasons: Record<string, string> = {
  ENOENT: 'there is no such folder.',
  ENOTDIR: 'there is no such folder.',
  EACCES: 'no permission to write there.',
  EISDIR: 'it is a folder.',
}

interface ForgetInput {
  words: string[]
  everything?: boolean
  alias?: boolean
  yes?: boolean
}

type Input = ForgetInput & { json?: boolean }

export const forgetMemories: CommandHandler<ForgetInput> = async (context, input) => {
  if (input.alias) return forgetAlias(context, input)
  return input.everything ? forgetEverything(context, input) : forgetSome(context, input)
}

async function forgetSome(context: CommandContext, input: Input) {
  const { output } = context
  const found = await withApi(context, memories, (api) => findNamed(api, input.words))
  const chosen = found.named ?? (await chooseAmong(context, input, found.candidates))
  if (chosen === undefined) return exitCodes.failed
  if (found.named && !input.yes) {
    for (const memory of chosen) output.note(shortText(memory))
    const question = `Forget ${chosen.length === 1 ? 'this' : `these ${chosen.length}`}?`
    if (!(await isConfirmed(context, input, question))) return exitCodes.failed
  }
  const forgotten: Answer<typeof memories.forget>[] = []
  await withApi(context, memories, async (api) => {
    for (const { id } of chosen.slice(forgotten.length)) {
      const reply = await api.forget({ id }).catch(passOverMissing)
      // Duplicates of a forgotten memory were forgotten with it.
      if (!reply) continue
      forgotten.push(reply)
      if (!input.json) printForgotten(context, reply)
    }
  })
  if (input.json) output.printJson({ forgotten })
  return undefined
}

type MemoryApi = Api<typeof memories>

const maxCandidates = 10
const looked = 50

/** Each word as an id or exact title, or all words as one title; otherwise the results of a search. */
async function findNamed(
  api: MemoryApi,
  words: readonly string[],
): Promise<{ named: MemoryReply[] | undefined; candidates: MemoryReply[] }> {
  const phrase = words.join(' ').trim()
  for (const names of words.length > 1 ? [words, [phrase]] : [words]) {
    const named: MemoryReply[] = []
    for (const name of names) named.push(...(await findOne(api, name)))
    if (named.length === names.length) return { named, candidates: [] }
  }
  const { results } = await api.search({ q: phrase, limit: maxCandidates })
  if (results.length === 0) {
    const problem = `No memory has the id or title "${phrase}", and the search found none. Nothing was forgotten.`
    throw new CommandError(problem, { code: 'not_found', hint: 'To list memories: familiar memory' })
  }
  return { named: undefined, candidates: results.map(({ memory }) => memory) }
}

/** At most one. */
async function findOne(api: MemoryApi, name: string): Promise<MemoryReply[]> {
  const found = await api.show({ id: name }).catch(passOverMissing)
  if (found) return [found.memory]
  const { results } = await api.search({ q: name, limit: looked })
  const titled = results.find(({ memory }) => memory.title === name)
  return titled ? [titled.memory] : []
}

function passOverMissing(error: unknown): undefined {
  if (error instanceof CommandError && error.code === 'not_found') return undefined
  throw error
}

/** Undefined if the user chose none. */
async function chooseAmong(
  context: CommandContext,
  input: Input,
  candidates: readonly MemoryReply[],
): Promise<readonly MemoryReply[] | undefined> {
  const { output } = context
  const phrase = plainText(input.words.join(' '))
  const exact = candidates.filter(({ content }) => plainText(content) === phrase)
  const sure = exact.length > 0 ? exact : candidates.length === 1 ? candidates : []
  if (input.yes && sure.length > 0) return sure
  if (input.json) return output.printJson({ forgotten: [], candidates })
  for (const [index, memory] of candidates.entries()) {
    output.note(`${index + 1}. ${formatMemoryDay(memory.created_at)} ${kindName(memory)}  ${shortText(memory)}`)
    output.note(output.style('dim', `   ${memory.id}`))
  }
  if (input.yes) {
    throw new CommandError(`${candidates.length} memories match. Nothing was forgotten.`, {
      hint: 'Give the ids: familiar forget ID --yes',
    })
  }
  const question = 'Which to forget? Numbers such as "1 3", "all", or Enter for none:'
  const answer = await askUser(context, question, 'give an id: familiar forget ID --yes')
  const numbers = /^all$/i.test(answer) ? candidates.map((_, index) => index + 1) : readNumbers(answer)
  const wanted = numbers?.flatMap((number) => candidates[number - 1] ?? [])
  if (!wanted || wanted.length !== numbers?.length) {
    throw new CommandError(`"${answer}" is not one of them. Nothing was forgotten.`, { exitCode: exitCodes.usage })
  }
  if (wanted.length > 0) return wanted
  output.note('Nothing was forgotten.')
  return undefined
}

function readNumbers(answer: string): number[] | undefined {
  const words = answer.split(/[\s,]+/).filter(Boolean)
  return words.every((word) => /^\d{1,4}$/.test(word)) ? [...new Set(words.map(Number))] : undefined
}

function plainText(text: string): string {
  return text
    .trim()
    .replace(/[.!?。！？]+$/u, '')
    .toLowerCase()
}

function printForgotten({ output }: CommandContext, reply: Answer<typeof memories.forget>): void {
  output.print(`Forgotten: ${shortText(reply.memory)}`)
  for (const memory of reply.also_forgotten) output.print(`  and: ${shortText(memory)}`)
  output.print(output.style('dim', `To undo (30 days): ${output.commandLine(`memory undo ${reply.change_id}`)}`))
}

async function forgetEverything(context: CommandContext, input: Input) {
  const { output } = context
  const about = input.words
    .join(' ')
    .replace(/^about\s+/i, '')
    .trim()
  const question = `Forget everything that mentions "${about}", in memories and conversations, for good?`
  if (!(await isConfirmed(context, input, question))) return exitCodes.failed
  const reply = await withApi(context, memories, (api) => api.forgetEverything({ about, confirm: true }))
  return output.report(input.json, reply, () => {
    const forgotten = plural(reply.memories, 'memory', 'memories')
    output.print(`${forgotten} forgotten, and erased from ${plural(reply.events, 'event')} of conversations.`)
    output.print(output.style('dim', 'Backups and files outside the home are unchanged.'))
  })
}

async function forgetAlias(context: CommandContext, input: Input) {
  const [alias, entity] = exactly(input.words, 2, 'a name', 'familiar memory forget --alias Bea Beatrice')
  const reply = await withApi(context, aliases, (api) => api.remove({ alias, entity }))
  return context.output.report(input.json, reply, `${alias} is no longer another name of ${entity}.`)
}

interface ImportInput {
  file: string
  mine?: boolean
  notMine?: boolean
  folders?: boolean
}

const shownProblems = 20

export const importMemories: CommandHandler<ImportInput> = async (context, input) => {
  const { output } = context
  await using opened = new AsyncDisposableStack()
  const read = await openSource(context, input.file, opened)
  const label = (await areOwn(context, input)) ? 'owner' : 'untrusted'
  const reply = await watchProgress(context, {
    describe: ({ line, added }) => `line ${formatCount(line)}, ${plural(added, 'memory', 'memories')} added`,
    stopped: 'Stopped. The lines read so far stay; import the same file again to continue.',
    work: (client, watched) => {
      const add_folders = input.folders ? 'true' : 'false'
      return client.watch(memories.importLines, { data: read(), label, add_folders }, watched)
    },
  })
  output.report(input.json, reply, () => printReport(output, reply))
  return reply.problems.count === 0 ? exitCodes.fine : exitCodes.failed
}

/** A file on this machine counts as the user's own notes; standard input may come from anywhere. */
async function areOwn(context: CommandContext, input: ImportInput & { json?: boolean }): Promise<boolean> {
  if (input.mine) return true
  if (input.notMine || input.file === '-') return false
  if (input.json || !context.stdin.isTTY || !context.stderr.isTTY) return true
  const question = 'Are these your own notes? Notes by others are marked as untrusted.'
  return await confirm(context, question, { byDefault: true })
}

/** Its bytes, from the beginning each time, because the work may be retried. */
async function openSource(
  context: CommandContext,
  path: string,
  opened: AsyncDisposableStack,
): Promise<() => AsyncIterable<Uint8Array>> {
  if (path === '-') {
    const given = await readStandardInput(context)
    return () => Readable.from([given])
  }
  const file = await open(path).catch((cause: NodeJS.ErrnoException) => {
    throw new CommandError(`Cannot read ${path}: ${whyUnreadable(cause)}`, { cause })
  })
  opened.use(file)
  if (!(await file.stat()).isFile()) throw new CommandError(`Cannot read ${path}: it is not a file.`)
  return () => file.createReadStream({ start: 0, autoClose: false })
}

function printReport(output: Output, reply: ImportReply): undefined {
  const { added, known, folders, problems } = reply
  const what = [plural(added.memories, 'memory', 'memories'), plural(added.edges, 'edge'), plural(added.names, 'name')]
  output.print(`${what.join(', ')} added; ${formatCount(known)} already known.`)
  for (const path of folders.added) output.print(`Now indexed: ${path}`)
  for (const path of folders.left) output.print(`Not indexed: ${path} (${output.commandLine(`memory index ${path}`)})`)
  if (problems.count === 0) return
  output.note(`${plural(problems.count, 'line')} could not be used:`)
  for (const { line, message } of problems.first.slice(0, shownProblems)) output.note(`  line ${line}: ${message}`)
  if (problems.count > shownProblems) output.note(`  and ${formatCount(problems.count - shownProblems)} more`)
}

interface IndexInput {
  path?: string
  remove?: string
  list?: boolean
}

export const indexFiles: CommandHandler<IndexInput> = async (context, input) => {
  if (input.path !== undefined && (input.list || input.remove !== undefined)) {
    throw usageError('Give one of: a path to add, --remove PATH, --list.')
  }
  if (input.list) return listRoots(context, input)
  if (input.remove !== undefined) return removeRoot(context, { ...input, path: resolve(input.remove) })
  const path = input.path === undefined ? undefined : resolve(input.path)
  const report = await watchProgress(context, {
    describe: ({ done, total, path }) => `${formatCount(done)} of ${plural(total, 'file')}: ${path}`,
    stopped: 'Stopped. The files indexed so far stay; run the command again to continue.',
    async work(client, watched) {
      if (path !== undefined) await client.api(roots).add({ path })
      return client.watch(roots.sync, {}, watched)
    },
  })
  return context.output.report(input.json, report, () => printSync(context.output, report))
}

function printSync(output: Output, report: SyncReply): undefined {
  const { files, added, changed, removed, passages, skipped } = report
  output.print(`${plural(files, 'file')} indexed: ${added} new, ${changed} changed, ${removed} gone.`)
  output.print(`${plural(passages.added, 'passage')} added, ${formatCount(passages.removed)} removed.`)
  for (const { path, state, message, is_workspace } of report.roots) {
    if (state !== 'found' && !is_workspace) output.note(`${path}: ${message ?? state}`)
  }
  for (const { path, message } of skipped.examples) output.note(`Skipped: ${path}: ${message}`)
}

const listRoots = apiCommand(
  roots,
  (api) => api.list(),
  (reply) => ({
    empty: 'No indexed files.',
    header: ['Files', '', 'Path'],
    rows: reply.roots.map(({ path, files, is_workspace }) => [
      formatCount(files),
      is_workspace ? 'workspace' : 'added',
      path,
    ]),
  }),
)

const removeRoot = apiCommand(
  roots,
  (api, { path }: { path: string }) => api.remove({ path }),
  (_reply, _output, { path }) => `${path} is no longer indexed. The files are unchanged.`,
)

interface GraphInput {
  id?: string
  depth: number
  link?: string
  unlink?: string
  relation: string
}

const maxNodes = 100

export const showGraph: CommandHandler<GraphInput> = async (context, input) => {
  const { id, depth } = input
  const other = input.link ?? input.unlink
  if (other !== undefined) {
    if (id === undefined) throw usageError('A link needs two memories.', 'familiar memory graph ID --link OTHER')
    return changeEdge(context, { ...input, id, other })
  }
  const reply = await withApi(context, graph, (api) => api.show({ ids: id, depth, limit: maxNodes }))
  return context.output.report(input.json, reply, () => {
    if (reply.edges.length === 0) return 'No links.'
    return (id === undefined ? drawEdges(reply) : drawTree(reply, id)).join('\n')
  })
}

const changeEdge = apiCommand(
  graph,
  (api, { id, other, relation, link }: GraphInput & { id: string; other: string }): Promise<object> => {
    const edge = { source_id: id, target_id: other, relation }
    return link === undefined ? api.unlink(edge) : api.link(edge)
  },
  (_reply, _output, { link, relation }) => (link === undefined ? 'Link removed.' : `Linked: ${relation}.`),
)

/** One line for each edge: `Ruth has the key ─ keeps → The spare key …` */
function drawEdges({ nodes, edges }: GraphReply): string[] {
  const texts = new Map(nodes.map((node) => [node.id, describeNode(node)]))
  const textOf = (id: string) => texts.get(id) ?? id
  return edges.map((edge) => `${textOf(edge.source_id)} ─ ${edge.relation} → ${textOf(edge.target_id)}`)
}

/** Each memory once, under the first one that leads to it. */
export function drawTree({ nodes, edges }: GraphReply, start: string): string[] {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const seen = new Set([start])
  const root = byId.get(start)
  const children = new Map<string, { id: string; relation: string; isForward: boolean }[]>()
  for (const at of seen) {
    const found: { id: string; relation: string; isForward: boolean }[] = []
    for (const { source_id: source, target_id: target, relation } of edges) {
      if (source !== at && target !== at) continue
      const id = source === at ? target : source
      if (seen.has(id) || !byId.has(id)) continue
      seen.add(id)
      found.push({ id, relation, isForward: source === at })
    }
    children.set(at, found)
  }
  return [root ? describeNode(root) : start, ...branches(start, '')]

  function branches(id: string, indent: string): string[] {
    const below = children.get(id) ?? []
    return below.flatMap((child, index) => {
      const isLast = index === below.length - 1
      const node = byId.get(child.id)
      const way = child.isForward ? `${child.relation} →` : `← ${child.relation}`
      const line = `${indent}${isLast ? '└─' : '├─'} ${way} ${node ? describeNode(node) : child.id}`
      return [line, ...branches(child.id, `${indent}${isLast ? '   ' : '│  '}`)]
    })
  }
}

function describeNode(node: GraphReply['nodes'][number]): string {
  return `${kindName(node)}  ${shortText({ title: node.title, content: node.text })}  [memory:${node.id}]`
}

export const showStats = apiCommand(
  memories,
  (api) => api.stats(),
  (reply, output) => output.printFields(describeStats(reply)),
)

function describeStats(reply: MemoryStatsReply): [string, string | null][] {
  const { memories, files, embedding, learning } = reply
  return [
    ['Notes', formatCount(memories.note)],
    ['Facts', formatCount(memories.fact)],
    ['Episodes', formatCount(memories.episode)],
    ['Commitments', formatCount(memories.commitment)],
    ['Passages', formatCount(memories.chunk)],
    ['Superseded', formatCount(reply.superseded)],
    ['Names', formatCount(reply.aliases)],
    ['Edges', formatCount(reply.edges)],
    ['Can be undone', plural(reply.changes, 'change')],
    ['Files', `${formatCount(files.files)} in ${plural(files.roots, 'place')}, ${formatBytes(files.bytes)}`],
    ['Embedding', describeEmbedding(embedding)],
    ['Learning', learning.waiting > 0 ? `${plural(learning.waiting, 'session')} waiting` : 'up to date'],
    ['Extraction', describeTrouble(learning.extraction)],
    ['Consolidation', describeTrouble(learning.consolidation)],
    ['Database', formatBytes(reply.database_bytes)],
  ]
}

function describeEmbedding(embedding: MemoryStatsReply['embedding']): string {
  if (!embedding) return 'none: search by words only'
  const { model, embedded, total, problem } = embedding
  const progress = `${formatCount(embedded)} of ${formatCount(total)} with ${model}`
  return problem ? `${progress}; stopped: ${problem}` : progress
}

function describeTrouble(trouble: TroubleReply | null): string | null {
  if (!trouble) return null
  const { failures, passed_over, last } = trouble
  const passed = passed_over > 0 ? `, ${passed_over} skipped` : ''
  return `${plural(failures, 'failure')}${passed}; last ${formatTime(last.at)}: ${last.reason}`
}
