import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { writeFileAtomically } from '../../base/files.ts'
import { formatCount, formatDollars, formatTime, plural } from '../../base/text.ts'
import { isForHandAlone } from '../../custom-tools/builder/builds.ts'
import {
  type ContextReply,
  type CostReply,
  type HistoryEvent,
  type SessionReply,
  sessions,
} from '../../protocol/api.ts'
import { type BuildQuestionReply, builds } from '../../protocol/custom-tools.ts'
import { page } from '../../protocol/page.ts'
import { costs } from '../../protocol/status.ts'
import { type ApprovalReply, approvals as calls } from '../../protocol/users.ts'
import { type CommandContext, CommandError, type CommandHandler, exitCodes, jsonLines } from '../command.ts'
import { type ApiClient, connect, findSession, historyPages, withFamiliar } from '../connect.ts'
import { describeEvent, logLine } from '../log-line.ts'
import type { Output } from '../output.ts'
import { describeQuestion } from './builds.ts'

export const listSessions: CommandHandler<{ all?: boolean }> = async (context, input) => {
  const { output } = context
  const archived = input.all ? 'true' : 'false'
  const listed = await withFamiliar(context, ({ api }) => api(sessions).list({ archived }))
  return output.list(input.json, {
    value: listed,
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
  })
}

/** `familiar sessions rename SESSION TITLE`: the title that the page shows. The name stays. */
export const renameSession: CommandHandler<{ session: string; title?: string[] }> = async (context, input) => {
  const { output } = context
  const title = (input.title ?? []).join(' ')
  const session = await withFamiliar(context, async (client) => {
    const { id } = await findSession(client, input.session)
    return client.api(page).rename({ id, title })
  })
  return output.report(
    input.json,
    { ...session, title },
    title === '' ? `${session.contact} has no title now.` : `${session.contact}: ${title}`,
  )
}

/** Pending requests with everything that an approval covers. */
export const listApprovals: CommandHandler<object> = async (context, input) => {
  const { output } = context
  const { waiting, questions } = await withFamiliar(context, async (client) => ({
    waiting: await pending(client),
    questions: (await client.api(builds).questions()).questions.filter(isPermission),
  }))
  if (input.json) output.printJson({ approvals: waiting, questions })
  else if (waiting.length + questions.length === 0) output.print('No pending approvals.')
  else {
    for (const approval of waiting) describe(context, approval)
    for (const question of questions) output.print(describeQuestion(output, question))
  }
  return undefined
}

/** A build that asks for a host waits for the answer; its other questions are not about a permission. */
function isPermission({ id, build_id }: BuildQuestionReply): boolean {
  return isForHandAlone({ id, build_id })
}

export const approve: CommandHandler<{ id: string }> = (context, input) => answer(context, input, 'approve')

export const deny: CommandHandler<{ id: string }> = (context, input) => answer(context, input, 'deny')

async function answer(
  context: CommandContext,
  input: { id: string; json?: boolean },
  word: 'approve' | 'deny',
): Promise<undefined> {
  const { output } = context
  const approval = await withFamiliar(
    context,
    async (client) => client.api(calls).answer({ id: await idOf(client, input.id), answer: word }),
    { talks: true },
  )
  const approved = `Approved: ${approval.tool}, this call only. Familiar continues.`
  const denied = `Denied: ${approval.tool}. The call was not made.`
  return output.report(input.json, approval, word === 'approve' ? approved : denied)
}

/** By its id or a unique beginning of it. */
async function idOf(client: ApiClient, name: string): Promise<string> {
  const beginning = (await pending(client)).filter(({ id }) => id.startsWith(name))
  if (beginning.length < 2) return beginning[0]?.id ?? name
  throw new CommandError(`Several requests start with ${JSON.stringify(name)}.`, {
    code: 'bad_request',
    hint: 'Give the whole id: familiar approvals',
  })
}

async function pending(client: ApiClient): Promise<ApprovalReply[]> {
  return (await client.api(calls).list()).approvals
}

function describe({ output }: CommandContext, approval: ApprovalReply): void {
  const { id, tool, destination, reason, session_id, asked_at, expires_at } = approval
  output.print(output.style('bold', `${tool}${destination === null ? '' : ` to ${destination}`}`))
  output.print(`  ${JSON.stringify(approval.arguments)}`)
  output.print(`  ${reason} Asked ${formatTime(asked_at)} in session ${session_id}; until ${formatTime(expires_at)}.`)
  output.print(`  familiar approvals approve ${id}`)
  output.print(`  familiar approvals deny ${id}`)
}

const barWidth = 30

export const context: CommandHandler<{ session: string }> = async (command, input) => {
  const { output } = command
  const reply = await withFamiliar(command, async (client) =>
    client.api(sessions).context({ id: (await findSession(client, input.session)).id }),
  )
  if (input.json) return output.printJson(reply)
  const { rows, summary } = drawContext(reply)
  output.printTable(rows, { header: ['Block', 'Tier', 'Tokens', '', 'Share'] })
  output.print()
  for (const line of summary) output.print(line)
  return undefined
}

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

export const cost: CommandHandler<{ period: CostReply['period'] }> = async (context, input) => {
  const { output } = context
  const reply = await withFamiliar(context, ({ api }) => api(costs).report({ period: input.period }))
  if (input.json) return output.printJson(reply)
  output.print(
    `${output.style('bold', formatDollars(reply.total_usd))} in ${plural(reply.calls, 'model call')} (${words[reply.period]})`,
  )
  if (reply.unpriced_calls > 0) {
    output.print(
      `${plural(reply.unpriced_calls, 'call')} to models without a price are not included: their cost is unknown.`,
    )
  }
  if (reply.estimated_calls > 0) {
    output.print(
      `${plural(reply.estimated_calls, 'call')} estimated: the provider sent no token count, or the call was interrupted.`,
    )
  }
  if (reply.by_model.length === 0) return undefined
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
  return undefined
}

const words = { today: 'today', week: 'last 7 days', month: 'last 30 days', all: 'since the beginning' }

interface ExportInput {
  session?: string
  all?: boolean
  out: string
}

/** The whole log as JSON lines: one file per session and day (UTC), replaced each time. */
export const exportSessions: CommandHandler<ExportInput> = async (context, input) => {
  const { output } = context
  const directory = resolve(input.out)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const { files, events, ...written } = await withFamiliar(context, async (client) => {
    const archived = input.all ? 'true' : 'false'
    const chosen = input.session
      ? [await findSession(client, input.session)]
      : (await client.api(sessions).list({ archived })).sessions
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
    return { files, sessions: chosen.length, events }
  })
  if (input.json) output.printJson({ directory, files, sessions: written.sessions, events })
  else {
    for (const file of files) output.print(file)
    output.note(
      `${plural(events, 'event')} of ${plural(written.sessions, 'session')} in ${plural(files.length, 'file')}.`,
    )
  }
  return undefined
}

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

export const history: CommandHandler<{ session: string; full?: boolean }> = async (context, input) => {
  const { output } = context
  const full = input.full === true
  const { session, events } = await withFamiliar(context, async (client) => {
    const session = await findSession(client, input.session)
    return { session, events: (await Array.fromAsync(historyPages(client, session.id, { full }))).flat() }
  })
  if (input.json) return output.printJson({ session_id: session.id, events })
  for (const event of events) printEvent(output, event)
  return undefined
}

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
