import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { displayWidth, fitWidth, formatCount, formatTime, oneLine, plural } from '../../base/text.ts'
import {
  aliases,
  type CommitmentReply,
  commitments,
  type DeepProgressReply,
  facts,
  type MemoryDetailReply,
  type MemoryEditRequest,
  type MemoryReply,
  type MemorySearchReply,
  memories,
} from '../../protocol/memory.ts'
import { createStatusLine } from '../chat/status-line.ts'
import {
  type CommandContext,
  type CommandHandler,
  interrupted,
  openEditor,
  textOrInput,
  usageError,
} from '../command.ts'
import { type ApiClient, apiCommand, type Watched, withApi, withFamiliar } from '../connect.ts'
import type { Output } from '../output.ts'

export const showMemory = apiCommand(memories, (api, { id }: { id: string }) => api.show({ id }), printMemory)

function printMemory(reply: MemoryDetailReply, output: Output): undefined {
  const { memory, fact, episode, commitment } = reply
  const { superseded_at, superseded_by } = memory
  const until = fact?.valid_to ? `, until ${formatMemoryDay(fact.valid_to)}` : ''
  output.print(output.style('bold', memory.title ?? kindName(memory)))
  output.print(memory.content)
  output.print()
  output.printFields([
    ['Kind', kindName(memory)],
    ['Id', memory.id],
    ['From', describeOrigin(memory)],
    ['File', memory.file && `${memory.file.file}, lines ${memory.file.first_line} to ${memory.file.last_line}`],
    ['Category', memory.category],
    ['Tags', memory.tags.join(', ')],
    ['About', daysOf(memory.happened_from, memory.happened_until)],
    ['Retention', `${memory.tier === 'long_term' ? 'long-term' : 'short-term'}, priority ${memory.priority}`],
    ['Used', memory.use_count > 0 ? `${plural(memory.use_count, 'time')}, last ${formatTime(memory.used_at)}` : null],
    ['Superseded', superseded_at && `${formatTime(superseded_at)} by ${superseded_by ?? 'nothing'}`],
    ['Confidence', fact && `${Math.round(fact.confidence * 100)}%`],
    ['Valid', fact && `since ${formatMemoryDay(fact.valid_from)}${until}`],
    ['Decided', episode?.decisions.join('; ')],
    ['Tone', episode?.tone],
    ['State', commitment?.state],
    ['By', commitment?.deadline && formatMemoryDay(commitment.deadline)],
  ])
  printRest(output, reply)
}

function printRest(output: Output, { memory, edges, history }: MemoryDetailReply): void {
  const before = history.facts.filter((fact) => fact.id !== memory.id)
  if (before.length > 0) output.print('\nEarlier values:')
  for (const { value, valid_from: from, valid_to: to, id } of before) {
    const days = `${formatMemoryDay(from)} to ${to ? formatMemoryDay(to) : 'now'}`
    output.print(`  ${value}, ${days}  ${output.style('dim', id)}`)
  }
  if (edges.length > 0) output.print('\nLinks:')
  for (const { source_id: source, target_id: target, relation } of edges) {
    output.print(source === memory.id ? `  ${relation} → ${target}` : `  ${source} → ${relation}`)
  }
  if (history.changes.length > 0) output.print('\nChanges:')
  for (const change of history.changes) {
    const by = change.made_by === 'user' ? 'you' : 'Familiar'
    output.print(`  ${formatTime(change.at)} by ${by}: ${output.commandLine(`memory undo ${change.id}`)}`)
  }
}

function daysOf(from: string | null, until: string | null): string | null {
  if (from === null) return null
  const first = from.slice(0, 10)
  const last = until?.slice(0, 10) ?? first
  return first === last ? first : `${first} to ${last}`
}

const maxTextLength = 200

/** The day, in local time. */
export function formatMemoryDay(time: string): string {
  return formatTime(time).slice(0, 10)
}

export function shortText({ title, content }: Pick<MemoryReply, 'title' | 'content'>): string {
  return oneLine(title ? `${title}: ${content}` : content, maxTextLength)
}

/** The kind as people know it: stored passages of files and conversations are called chunks. */
export function kindName({ kind }: Pick<MemoryReply, 'kind'>): string {
  return kind === 'chunk' ? 'passage' : kind
}

function describeOrigin(memory: MemoryReply): string {
  const { source, speaker, session_id: session, file, kind } = memory
  if (file) return `a file, ${memory.citation}`
  const said = speaker === 'user' ? 'you said it' : `${speaker ?? 'someone'} said it`
  const from = kind === 'chunk' ? said : origins[source]
  const where = session === null ? '' : ` in session ${session}`
  return `${from}${where}, ${formatTime(memory.created_at)}${memory.label === 'untrusted' ? ', untrusted' : ''}`
}

const origins: Record<MemoryReply['source'], string> = {
  user: 'you wrote it',
  agent: 'Familiar stored it',
  extracted: 'learned from a conversation',
  tool: 'a tool stored it',
  import: 'imported',
}

interface ContentInput {
  title?: string
  category?: string
  tag?: string[]
  retention?: 'short_term' | 'long_term'
  priority?: number
}

interface AddInput extends ContentInput {
  words: string[]
  fact?: boolean
  confidence?: number
  multiValued?: boolean
  commitment?: boolean
  who?: string
  to?: string
  by?: string
  alias?: boolean
}

type Kind = 'note' | 'fact' | 'commitment' | 'alias'

/** The options of each kind. The others are refused, because they would have no effect. */
const optionsOf: Record<Kind, readonly (keyof AddInput)[]> = {
  note: ['title', 'category', 'tag', 'retention', 'priority'],
  fact: ['confidence', 'multiValued'],
  commitment: ['who', 'to', 'by'],
  alias: [],
}

export const addMemory: CommandHandler<AddInput> = (context, input) => adders[kindOf(input)](context, input)

function kindOf(input: AddInput): Kind {
  const chosen = (['fact', 'commitment', 'alias'] as const).filter((kind) => input[kind])
  if (chosen.length > 1) throw usageError(`--${chosen.join(' and --')} do not go together.`, 'Add one after the other.')
  const kind = chosen[0] ?? 'note'
  for (const [other, options] of Object.entries(optionsOf)) {
    const stray = other === kind ? undefined : options.find((option) => input[option] !== undefined)
    if (stray === undefined) continue
    const flag = stray.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    throw usageError(`--${flag} has no effect here.`, `Use it with ${other === 'note' ? 'a note' : `--${other}`}.`)
  }
  return kind
}

const addNote: CommandHandler<AddInput> = async (context, input) => {
  const content = await textOrInput(context, input.words.join(' '))
  if (content.trim() === '') {
    const hint = 'Example: familiar memory add "The spare key is with Ruth", or - to read standard input.'
    throw usageError('No text given.', hint)
  }
  const { title, category, tag: tags, retention: tier, priority } = input
  const note = { content, title, category, tags, tier, priority }
  const reply = await withApi(context, memories, (api) => api.add(note))
  return context.output.report(input.json, reply, `${verbOf(reply)}: ${reply.memory.citation}`)
}

const addFact: CommandHandler<AddInput> = async (context, input) => {
  const { output } = context
  const example = 'familiar memory add --fact Anna birthday "3 May"'
  const [entity, attribute, value] = exactly(input.words, 3, 'a fact', example)
  const { confidence } = input
  const reply = await withApi(context, facts, async (api) => {
    if (input.multiValued) await api.declare({ attribute, is_multi_valued: true })
    return api.state({ entity, attribute, value, confidence })
  })
  const { fact, old, outcome } = reply
  return output.report(input.json, reply, () => {
    const verb = verbOf({ is_new: outcome !== 'confirmed' })
    output.print(`${verb}: ${fact.entity}: ${fact.attribute} is ${fact.value} (memory:${fact.id})`)
    if (old) output.print(`Before: ${old.value}, since ${formatMemoryDay(old.valid_from)}`)
  })
}

const addCommitment: CommandHandler<AddInput> = async (context, input) => {
  const { output } = context
  const what = input.words.join(' ')
  if (what.trim() === '')
    throw usageError('A commitment needs some text.', 'familiar memory add --commitment "send the photos" --to Ruth')
  const commitment = { what, who: input.who, to_whom: input.to, deadline: input.by }
  const reply = await withApi(context, commitments, (api) => api.add(commitment))
  const { id, deadline } = reply.commitment
  const due = deadline === null ? '' : `, by ${formatMemoryDay(deadline)}`
  return output.report(input.json, reply, () => {
    output.print(`${verbOf(reply)}: ${reply.commitment.what}${due} (memory:${id})`)
    output.print(output.style('dim', `When it is done: ${output.commandLine(`memory done ${id}`)}`))
  })
}

const addAlias: CommandHandler<AddInput> = async (context, input) => {
  const [alias, entity] = exactly(input.words, 2, 'a name', 'familiar memory add --alias Bea Beatrice')
  const reply = await withApi(context, aliases, (api) => api.add({ alias, entity }))
  return context.output.report(input.json, reply, `${verbOf(reply)}: ${reply.alias} is ${reply.entity}`)
}

const adders: Record<Kind, CommandHandler<AddInput>> = {
  note: addNote,
  fact: addFact,
  commitment: addCommitment,
  alias: addAlias,
}

function verbOf({ is_new }: { is_new: boolean }): string {
  return is_new ? 'Saved' : 'Already known'
}

/** The shell splits words, so a value of several words is quoted. */
export function exactly(
  words: readonly string[],
  count: 2 | 3,
  what: string,
  example: string,
): [string, string, string] {
  const [first = '', second = '', third = ''] = words
  if (words.length === count) return [first, second, third]
  throw usageError(`Expected ${count} words for ${what}, got ${words.length}.`, `Example: ${example}`)
}

export const closeCommitments = apiCommand(
  commitments,
  async (api, input: { ids: string[]; cancel?: boolean; reopen?: boolean }) => {
    const state = input.cancel ? 'cancelled' : input.reopen ? 'open' : 'done'
    const edited: CommitmentReply[] = []
    for (const id of input.ids) edited.push(await api.edit({ id, state }))
    return { commitments: edited }
  },
  (reply) => reply.commitments.map(({ state, what }) => `${words[state]}: ${what}`).join('\n'),
)

const words = { done: 'Done', open: 'Open again', cancelled: 'Canceled', expired: 'Open again, and overdue' }

interface EditInput extends ContentInput {
  id: string
  content?: string
  by?: string
}

/** With options or, without any, in the editor. */
export const editMemory: CommandHandler<EditInput> = async (context, input) => {
  const { output } = context
  const { id, by } = input
  const given = toEdit(input)
  const isEmpty = Object.keys(given).length === 0
  const edit = isEmpty && by === undefined ? await editInEditor(context, id) : given
  if (!edit) {
    output.note('Nothing was changed.')
    return undefined
  }
  const reply = await withFamiliar(context, async ({ api }) => {
    const deadline = by === 'none' ? null : by
    const commitment = deadline === undefined ? undefined : await api(commitments).edit({ id, deadline })
    return { commitment, edited: isEmpty && by !== undefined ? undefined : await api(memories).edit({ id, ...edit }) }
  })
  const { commitment, edited } = reply
  return output.report(input.json, { ...edited, ...(commitment && { commitment }) }, () => {
    output.print(`Changed: ${edited ? shortText(edited.memory) : commitment?.what}`)
    if (edited) output.print(output.style('dim', `To undo: ${output.commandLine(`memory undo ${edited.change_id}`)}`))
  })
}

function toEdit(input: EditInput): MemoryEditRequest {
  const edit = {
    content: input.content,
    title: input.title === '' ? null : input.title,
    category: input.category === '' ? null : input.category,
    tags: input.tag?.filter((tag) => tag !== ''),
    tier: input.retention,
    priority: input.priority,
  }
  return Object.fromEntries(Object.entries(edit).filter(([, value]) => value !== undefined))
}

/** Undefined if the text is unchanged. */
async function editInEditor(context: CommandContext, id: string): Promise<MemoryEditRequest | undefined> {
  const { env, stdin, stdout } = context
  const editor = env.VISUAL || env.EDITOR
  if (!stdin.isTTY || !stdout.isTTY || !editor) {
    throw usageError(
      editor ? 'No change given.' : 'No change given, and no $EDITOR is set.',
      'Use --content, --title, --category, --tag, --retention, --priority or --by.',
    )
  }
  const { memory } = await withApi(context, memories, (api) => api.show({ id }))
  const directory = await mkdtemp(join(tmpdir(), 'familiar-edit-'))
  try {
    const path = join(directory, 'memory.md')
    await writeFile(path, `${memory.content}\n`, { mode: 0o600 })
    await openEditor(context, path)
    const content = (await readFile(path, 'utf8')).trim()
    if (content === '') throw usageError('The text is empty.', `To forget it: familiar memory forget ${id}`)
    return content === memory.content.trim() ? undefined : { content }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

interface ListInput {
  kind?: MemoryReply['kind'] | 'alias'
  limit: number
  entity?: string
  attribute?: string
  value?: string
  history?: boolean
  count?: boolean
  state?: CommitmentReply['state']
}

const maxPageSize = 500

function flag(isSet: boolean | undefined): 'true' | 'false' {
  return isSet ? 'true' : 'false'
}

export const listMemories: CommandHandler<ListInput> = async (context, input) => {
  const asksFacts = [input.attribute, input.value, input.history, input.count].some((option) => option !== undefined)
  if (input.kind === 'commitment') {
    if (asksFacts) throw usageError('--attribute, --value, --history and --count are for facts.', 'Leave out --kind.')
    return listCommitments(context, input)
  }
  if (input.state) throw usageError('--state has no effect here.', 'Use it with --kind commitment.')
  const isAboutFacts = asksFacts || input.entity !== undefined
  if (input.kind === 'fact' || (isAboutFacts && input.kind === undefined)) return listFacts(context, input)
  if (isAboutFacts) {
    throw usageError(`--entity, --attribute, --value, --history and --count are not for ${input.kind}.`)
  }
  return input.kind === 'alias' ? listAliases(context, input) : listAll(context, { ...input, kind: input.kind })
}

const listAll = apiCommand(
  memories,
  async (api, { kind, limit }: { kind: MemoryReply['kind'] | undefined; limit: number }) => {
    const found: MemoryReply[] = []
    let cursor: string | undefined
    do {
      const page = await api.list({ kind, limit: Math.min(maxPageSize, limit - found.length), cursor })
      found.push(...page.memories)
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined && found.length < limit)
    return { memories: found }
  },
  (reply) => ({
    empty: 'No memories yet. Add one: familiar memory add "TEXT"',
    header: ['Day', 'Kind', 'Id', 'Memory'],
    rows: reply.memories.map((memory) => [
      formatMemoryDay(memory.created_at),
      kindName(memory),
      memory.id,
      shortText(memory),
    ]),
  }),
)

const listFacts = apiCommand(
  facts,
  (api, { entity, attribute, value, history, count, limit }: ListInput) => {
    const question = { entity, attribute, value, history: flag(history), count: flag(count) }
    return api.list({ ...question, limit: Math.min(maxPageSize, limit) })
  },
  (reply, output) => {
    const rows = reply.facts.map(({ id, entity, attribute, value, valid_from, valid_to }) => {
      const until = valid_to === null ? '' : ` to ${formatMemoryDay(valid_to)}`
      return [entity, attribute, `${formatMemoryDay(valid_from)}${until}`, id, value]
    })
    if (rows.length === 0) output.print('No facts found.')
    else output.printTable(rows, { header: ['Entity', 'Attribute', 'Since', 'Id', 'Value'] })
    return reply.entities === undefined ? undefined : `${formatCount(reply.entities)} in all.`
  },
)

const listCommitments = apiCommand(
  commitments,
  (api, { state, entity, limit }: ListInput) => api.list({ state, who: entity, limit: Math.min(maxPageSize, limit) }),
  (reply) => ({
    empty: 'No commitments found.',
    header: ['State', 'By', 'Who', 'To', 'Id', 'What'],
    rows: reply.commitments.map(({ state, deadline, who, to_whom, id, what }) => [
      state,
      deadline === null ? '' : formatMemoryDay(deadline),
      who === 'user' ? 'you' : who,
      to_whom ?? '',
      id,
      what,
    ]),
  }),
)

const listAliases = apiCommand(
  aliases,
  (api) => api.list(),
  (reply) => ({
    empty: 'No aliases.',
    header: ['Name', 'Stands for'],
    rows: reply.aliases.map(({ alias, entity }) => [alias, entity]),
  }),
)

/** Long work with a line of progress on the terminal. Ctrl-C stops it; `stopped` then describes the result. */
export async function watchProgress<Progress, Result>(
  context: CommandContext,
  options: {
    describe(progress: Progress): string
    stopped: string
    work(client: ApiClient, watched: Watched<Progress>): Promise<Result>
    /** It is not retried after a lost connection. */
    once?: boolean
  },
): Promise<Result> {
  const { output, stderr, signal } = context
  const status = createStatusLine({ stream: stderr, clock: systemClock(), afterMs: 300 })
  const watched: Watched<Progress> = { signal, onProgress: (progress) => status.show(options.describe(progress)) }
  try {
    const { once = false } = options
    return await withFamiliar(context, (client) => options.work(client, watched), { endsOnAbort: true, once })
  } catch (error) {
    if (!signal.aborted) throw error
    status.clear()
    output.note(options.stopped)
    throw interrupted()
  } finally {
    status.clear()
  }
}

interface SearchInput {
  words: string[]
  kind?: MemoryReply['kind']
  limit: number
  explain?: boolean
  deep?: boolean
  style?: 'structured' | 'narrative' | 'factual'
}

export const searchMemories: CommandHandler<SearchInput> = async (context, input) => {
  const { output } = context
  const q = input.words.join(' ')
  if (input.deep) return searchDeep(context, q, input)
  if (input.style) throw usageError('--style has no effect here.', 'Use it with --deep.')
  const { kind, limit } = input
  const question = { q, kind, limit, explain: flag(input.explain) }
  const reply = await withApi(context, memories, (api) => api.search(question))
  return output.report(input.json, reply, () => {
    if (reply.results.length === 0) return 'No memories found'
    for (const result of reply.results) printResult(context, result)
    return undefined
  })
}

type Result = MemorySearchReply['results'][number]

function printResult({ output, stdout }: CommandContext, { rank, memory, passage, why }: Result): void {
  const text = shortText({ ...memory, content: passage ?? memory.content })
  const line = `${rank}. ${formatMemoryDay(memory.created_at)} ${kindName(memory)}  ${text}`
  const { columns } = stdout
  output.print(columns !== undefined && displayWidth(line) > columns ? fitWidth(line, columns) : line)
  output.print(output.style('dim', `   ${memory.citation}`))
  if (!why) return
  for (const text of explainResult(why)) output.print(output.style('dim', `   ${text}`))
  output.print(output.style('dim', `   from: ${describeOrigin(memory)}`))
}

/** `why: words 1.00 (rank 1) adds 0.42; recency 0.93 adds 0.05`, and its current strength. */
function explainResult({ signals, strength }: NonNullable<Result['why']>): string[] {
  const spoke = signals
    .toSorted((a, b) => b.added - a.added)
    .map(({ name, rank, value, added }) => {
      const place = rank === undefined ? '' : ` (rank ${rank})`
      return `${name} ${value.toFixed(2)}${place} adds ${added.toFixed(2)}`
    })
  return [`why: ${spoke.join('; ') || 'no other signal'}`, `strength: ${strength.toFixed(2)}`]
}

async function searchDeep(context: CommandContext, question: string, input: SearchInput & { json?: boolean }) {
  const { output } = context
  if (input.kind || input.explain) throw usageError('--deep takes neither --kind nor --explain.')
  const reply = await watchProgress(context, {
    describe: (progress: DeepProgressReply) => {
      if (progress.status === 'expanding') return 'asking in other ways'
      if (progress.status === 'searching') return `searching in ${plural(progress.searches.length, 'way')}`
      return `summing up ${plural(progress.count, 'memory', 'memories')}`
    },
    stopped: 'Stopped.',
    work: (client, watched) =>
      client.watch(memories.deep, { question, limit: Math.min(50, input.limit), style: input.style }, watched),
  })
  return output.report(input.json, reply, () => {
    output.print(reply.summary)
    for (const note of reply.notes) output.note(output.style('dim', note))
  })
}
