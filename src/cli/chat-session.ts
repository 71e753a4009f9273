import { randomUUID } from 'node:crypto'
import type { ChatCommand, ChatPartner } from '../channels/terminal/chat-partner.ts'
import type { CommandContext } from './command.ts'
import { CommandError } from './command-error.ts'
import { type Connection, connect, isGone } from './connect.ts'
import { drawContext } from './context-command.ts'
import { cliChannel, findSession } from './find-session.ts'
import { formatDuration, formatUsd, plural } from './format.ts'

/** One chat at a terminal: the session it is in, which may change, and the connection, which may break and come back. */
export interface ChatSession {
  partner: ChatPartner
  commands: Record<string, ChatCommand>
  close(): Promise<void>
}

export function openChatSession(
  context: CommandContext,
  options: { session: string; connection: Connection },
): ChatSession {
  let { session, connection } = options
  const client = () => connection.client
  const current = () => findSession(client(), session)

  async function reconnect(): Promise<void> {
    await connection.close()
    connection = await connect(context, { talks: true })
  }

  const partner: ChatPartner = {
    async *say(text) {
      const message = { message: text, session, channel: cliChannel, source: cliChannel, key: randomUUID() }
      try {
        yield* client().chatEvents(message)
      } catch (error) {
        if (!connection.daemon || !isGone(error)) throw error
        // The same key: if the message arrived before the line broke, its turn goes on and no second one begins.
        await reconnect()
        yield* client().chatEvents(message)
      }
    },
    async stop() {
      const found = await current().catch(noneYet)
      return found ? (await client().stop(found.id)).stopped : false
    },
  }

  const commands: Record<string, ChatCommand> = {
    status: {
      help: 'what runs and which model answers',
      async run() {
        const { version, uptime_seconds, stats } = await client().status()
        const load = stats ? `, ${stats.turns_running} running, ${stats.messages_waiting} waiting` : ''
        return [`Familiar ${version}, up ${formatDuration(uptime_seconds * 1_000)}, ${stats?.model ?? ''}${load}`]
      },
    },
    cost: {
      takes: '[period]',
      help: 'what the models cost: today, week, month or all',
      async run(period) {
        const reply = await client().cost(period || 'today')
        const unpriced = reply.unpriced_calls > 0 ? `, ${reply.unpriced_calls} of them without a price` : ''
        return [`${formatUsd(reply.total_usd)} in ${plural(reply.calls, 'model call')}${unpriced} (${reply.period})`]
      },
    },
    context: {
      help: 'what fills the context window',
      async run() {
        const { rows, summary } = drawContext(await client().context((await current()).id))
        const widths = [0, 1, 2, 3].map((column) => Math.max(0, ...rows.map((row) => row[column]?.length ?? 0)))
        return [...rows.map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')), ...summary]
      },
    },
    mark: {
      takes: '<name>',
      help: 'name this place, to come back to it',
      async run(name) {
        if (!name) throw new CommandError('A mark needs a name: /mark before-the-change')
        await client().mark((await current()).id, name)
        return [`Marked. Back to here: /rewind ${name}`]
      },
    },
    rewind: {
      takes: '[turns|mark]',
      help: 'go back by a number of turns (1), or to a mark',
      async run(to) {
        const isCount = to === '' || /^\d+$/.test(to)
        await client().rewind((await current()).id, isCount ? { turns: Number(to || 1) } : { mark: to })
        return [isCount ? `Back by ${plural(Number(to || 1), 'turn')}.` : `Back at ${to}.`]
      },
    },
    fork: {
      takes: '<name>',
      help: 'go on in a copy of this session',
      async run(name) {
        if (!name) throw new CommandError('The copy needs a name: /fork another-way')
        const fork = await client().fork((await current()).id, name)
        session = fork.id
        return [`You are in ${fork.contact} now. The session before stays as it was.`]
      },
    },
    compact: {
      help: 'summarise the oldest part now',
      async run() {
        const { compacted } = await client().compact((await current()).id)
        return [compacted ? 'The oldest part is a summary now.' : 'There was too little to summarise.']
      },
    },
    reset: {
      help: 'archive this session and begin anew',
      async run() {
        const { contact, id } = await current()
        await client().reset(id)
        session = contact
        return [`Archived as ${id}. The next message begins a new session.`]
      },
    },
  }
  return { partner, commands, close: () => connection.close() }
}

function noneYet(error: unknown): undefined {
  if (!(error instanceof CommandError && error.code === 'not_found')) throw error
}
