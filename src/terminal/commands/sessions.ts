import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { writeFileAtomically } from '../../base/files.ts'
import { formatCount, formatDollars, formatTime, plural } from '../../base/text.ts'
import { isForHandAlone } from '../../custom-tools/builder/builds.ts'
import { type ContextReply, type HistoryEvent, type SessionReply, sessions } from '../../protocol/api.ts'
import { type BuildQuestionReply, builds } from '../../protocol/custom-tools.ts'
import { page } from '../../protocol/page.ts'
import { type ApprovalReply, approvals as calls } from '../../protocol/permissions.ts'
import { costs } from '../../protocol/status.ts'
import { CommandError, type CommandHandler, exitCodes, idStartingWith, jsonLines } from '../command.ts'
import { type Answer, type ApiClient, apiCommand, connect, findSession, historyPages } from '../connect.ts'
import { describeEvent, logLine } from '../log-line.ts'
import type { Output } from '../output.ts'
import { describeQuestion } from './builds.ts'

export const listSessions = apiCommand(
  sessions,
  (api, input: { all?: boolean }) => api.list({ archived: input.all ? 'true' : 'false' }),
  (listed) => ({
    empty: 'No sessions yet. Start one: familiar send "Hello"',
    header: ['Session', 'Channel', 'State', 'Events', 'Tokens', 'Last event', 'Id'],
    rows: listed.sessions.map((session) => [
      session.contact,
      session.channel,
      session.state,
      formatCount(session.events),
      formatCount(session.last_input_tokens),
      formatTime(session.updated_at),
      session.id,
    ]),
  }),
)

/** Sets the title that the page shows. The name stays. */
export const renameSession = apiCommand(
  page,
  async (api, input: { session: string; title?: string[] }, { client }) => {
    const title = (input.title ?? []).join(' ')
    const { id } = await findSession(client, input.session)
    return { ...(await api.rename({ id, title })), title }
  },
  ({ contact, title }) => (title === '' ? `${contact} has no title now.` : `${contact}: ${title}`),
)

/** Pending requests with everything that an approval covers. */
export const listApprovals = apiCommand(
  calls,
  async (api, _input: object, { client }) => ({
    approvals: (await api.list()).approvals,
    questions: (await client.api(builds).questions()).questions.filter(isPermission),
  }),
  ({ approvals, questions }, output) => {
    if (approvals.length + questions.length === 0) return 'No pending approvals.'
    for (const approval of approvals) describe(output, approval)
    for (const question of questions) output.print(describeQuestion(output, question))
    return undefined
  },
)

/** A build that asks for a host waits for the answer; its other questions are not about a permission. */
const isPermission = ({ id, build_id }: BuildQuestionReply) => isForHandAlone({ id, build_id })

const scopeTexts = { once: 'this call only', conversation: 'in this conversation', always: 'from now on' }

export const approve = answerWith(
  'approve',
  (tool, scope) => `Approved: ${tool}, ${scopeTexts[scope]}. Familiar continues.`,
)

export const deny = answerWith('deny', (tool) => `Denied: ${tool}. The call was not made.`)

function answerWith(
  answer: 'approve' | 'deny',
  describeAnswer: (tool: string, scope: keyof typeof scopeTexts) => string,
) {
  return apiCommand(
    calls,
    async (api, { id: named, scope }: { id: string; scope?: keyof typeof scopeTexts }) => {
      const id = idStartingWith((await api.list()).approvals, named, 'requests', 'familiar approvals')
      return api.answer({ id, answer, ...(scope && { scope }) })
    },
    ({ tool }, _output, { scope = 'once' }) => describeAnswer(tool, scope),
    { talks: true },
  )
}

function describe(output: Output, approval: ApprovalReply): void {
  const { id, scopes, sentence, reason, session_id, asked_at, expires_at } = approval
  output.print(output.style('bold', sentence))
  output.print(`  ${JSON.stringify(approval.arguments)}`)
  output.print(`  ${reason} Asked ${formatTime(asked_at)} in session ${session_id}; until ${formatTime(expires_at)}.`)
  output.print(`  ${output.commandLine(`approvals approve ${id}`)}`)
  if (scopes.includes('always')) output.print(`  ${output.commandLine(`approvals approve ${id} --scope always`)}`)
  output.print(`  ${output.commandLine(`approvals deny ${id}`)}`)
}

const barWidth = 30

export const context = apiCommand(
  sessions,
  async (api, { session }: { session: string }, { client }) =>
    api.context({ id: (await findSession(client, session)).id }),
  (reply, output) => {
    const { rows, summary } = drawContext(reply)
    output.printTable(rows, { header: ['Block', 'Tier', 'Tokens', '', 'Share'] })
    output.print()
    for (const line of summary) output.print(line)
  },
)

/** The share of each block as a bar: solid if cached by the provider, light if not. */
export function drawContext(reply: ContextReply): { rows: string[][]; summary: string[] } {
  const total = reply.blocks.reduce((sum, block) => sum + block.tokens, 0)
  const share = (tokens: number) => (total === 0 ? 0 : tokens / total)
  const rows = reply.blocks.map(({ name, tier, tokens, cached }) => [
    name,
    tier,
    formatCount(tokens),
    cached ? 'cached' : 'fresh',
    `${(cached ? '█' : '░').repeat(Math.max(tokens > 0 ? 1 : 0, Math.round(share(tokens) * barWidth)))} ${Math.round(share(tokens) * 100)}%`,
  ])
  const { last_request_tokens: last, threshold_tokens: threshold } = reply
  const summary = [
    `${formatCount(total)} tokens (${reply.tokenizer}), of which ${formatCount(
      reply.blocks.filter((block) => block.cached).reduce((sum, block) => sum + block.tokens, 0),
    )} cached.`,
    last === null
      ? 'No request sent yet.'
      : `The last request had ${formatCount(last)} tokens by the provider's count.`,
    `The oldest messages are summarized at ${formatCount(threshold)} tokens.`,
  ]
  return { rows, summary }
}

export const cost = apiCommand(
  costs,
  (api, { period }: { period: Answer<typeof costs.report>['period'] }) => api.report({ period }),
  printCost,
)

function printCost(reply: Answer<typeof costs.report>, output: Output): undefined {
  const total = output.style('bold', formatDollars(reply.total_usd))
  output.print(`${total} in ${plural(reply.calls, 'model call')} (${words[reply.period]})`)
  const { unpriced_calls: unpriced, estimated_calls: estimated } = reply
  if (unpriced > 0)
    output.print(`${plural(unpriced, 'call')} to models without a price are not included: their cost is unknown.`)
  if (estimated > 0)
    output.print(
      `${plural(estimated, 'call')} estimated: the provider sent no token count, or the call was interrupted.`,
    )
  if (reply.by_model.length === 0) return
  output.print()
  output.printTable(
    reply.by_model.map((row) => [
      row.model,
      formatCount(row.calls),
      formatCount(row.input_tokens),
      formatCount(row.output_tokens),
      formatCount(row.cache_read_tokens),
      formatCount(row.cache_write_tokens),
      `${formatDollars(row.cost_usd)}${row.estimated_calls > 0 ? ' (estimated)' : ''}`,
    ]),
    { header: ['Model', 'Calls', 'Input', 'Output', 'Cache read', 'Cache write', 'Cost'] },
  )
}

const words = { today: 'today', week: 'last 7 days', month: 'last 30 days', all: 'since the beginning' }

/** The whole log as JSON lines: one file per session and day (UTC), replaced each time. */
export const exportSessions = apiCommand(
  sessions,
  async (api, input: { session?: string; all?: boolean; out: string }, { client }) => {
    const directory = resolve(input.out)
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const chosen = input.session
      ? [await findSession(client, input.session)]
      : (await api.list({ archived: input.all ? 'true' : 'false' })).sessions
    const files: string[] = []
    let events = 0
    for (const session of chosen) {
      for (const [day, lines] of await linesByDay(client, session)) {
        const path = join(directory, `${session.id}.${day}.jsonl`)
        await writeFileAtomically(path, `${lines.join('\n')}\n`)
        files.push(path)
        events += lines.length
      }
    }
    return { directory, files, sessions: chosen.length, events }
  },
  ({ files, events, sessions: count }, output) => {
    for (const file of files) output.print(file)
    output.note(`${plural(events, 'event')} of ${plural(count, 'session')} in ${plural(files.length, 'file')}.`)
  },
)

async function linesByDay(client: ApiClient, session: SessionReply): Promise<Map<string, string[]>> {
  const days = new Map<string, string[]>()
  const { id: session_id, channel, contact } = session
  for await (const events of historyPages(client, session_id, { full: true })) {
    for (const { seq, at, turn_id, type, data } of events) {
      const day = at.slice(0, 'YYYY-MM-DD'.length)
      const lines = days.get(day) ?? []
      lines.push(JSON.stringify({ session_id, channel, contact, seq, at, turn_id, type, data }))
      days.set(day, lines)
    }
  }
  return days
}

export const history = apiCommand(
  sessions,
  async (_api, input: { session: string; full?: boolean }, { client }) => {
    const { id } = await findSession(client, input.session)
    const pages = await Array.fromAsync(historyPages(client, id, { full: input.full === true }))
    return { session_id: id, events: pages.flat() }
  },
  ({ events }, output) => {
    for (const event of events) printEvent(output, event)
  },
)

function printEvent(output: Output, event: HistoryEvent): void {
  if (event.role === null || event.text === null) {
    if (event.data) output.print(output.style('dim', `  ${describeEvent(event)}`))
    return
  }
  const who = event.role === 'user' ? output.style('cyan', 'You') : output.style('green', 'Familiar')
  output.print(`${who} ${output.style('dim', formatTime(event.at))}`)
  output.print(event.text)
  output.print()
}

/** Every event of the log, in full, a line each; with `--follow` also those to come. */
export const log: CommandHandler<{ session: string; follow?: boolean }> = async (context, input) => {
  const connection = await connect(context)
  const { client } = connection
  const printLine = jsonLines(context)
  const show = (event: HistoryEvent) => (input.json ? printLine(event) : context.output.print(logLine(event)))
  try {
    const session = await findSession(client, input.session)
    const seen = await showNew({ client, sessionId: session.id, after: 0, show })
    if (input.follow) await follow({ client, sessionId: session.id, after: seen, show, signal: context.signal })
    return exitCodes.fine
  } finally {
    await connection.close()
  }
}

interface LogReader {
  client: ApiClient
  sessionId: string
  after: number
  show(event: HistoryEvent): void
}

/** Shows the events after `after`; returns the last position. */
async function showNew({ client, sessionId, after, show }: LogReader): Promise<number> {
  let seen = after
  for await (const events of historyPages(client, sessionId, { full: true, after })) {
    for (const event of events) {
      seen = event.seq
      show(event)
    }
  }
  return seen
}

/** The stream announces events; they are then read from the log, complete and with their times. */
async function follow(reader: LogReader & { signal: AbortSignal }): Promise<void> {
  const { client, sessionId, after, signal } = reader
  let seen = after
  try {
    for await (const { cursor } of client.events(sessionId, { after: String(after), signal })) {
      // A cursor starts with the number of the last complete event.
      if (Number.parseInt(cursor, 10) > seen) seen = await showNew({ ...reader, after: seen })
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  // Ctrl-C is the usual end.
  if (!signal.aborted)
    throw new CommandError('Familiar was stopped.', { exitCode: exitCodes.unreachable, code: 'unreachable' })
}
