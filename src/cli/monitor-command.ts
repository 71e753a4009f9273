import { setTimeout as wait } from 'node:timers/promises'
import { formatCount, formatDuration } from '../base/format.ts'
import type { MonitorReply } from '../protocol/api.ts'
import type { ApiClient } from './api-client.ts'
import type { CommandContext, CommandHandler } from './command.ts'
import { CommandError, exitCodes } from './command-error.ts'
import { type Connection, withFamiliar } from './connect.ts'

const lookEveryMs = 500

export const monitor: CommandHandler<{ watch?: boolean }> = async (context, input) => {
  if (input.watch)
    return withFamiliar(context, (...familiar) => watch(context, ...familiar, input.json), { endsOnAbort: true })
  show(context, await withFamiliar(context, (client) => client.monitor()), input.json)
  return undefined
}

async function watch(context: CommandContext, client: ApiClient, { daemon }: Connection, json: boolean | undefined) {
  const { stdout, signal } = context
  if (!daemon) throw nothingToWatch()
  let shown = ''
  while (!signal.aborted) {
    const reply = await client.monitor()
    // On a terminal the times run on; a pipe is told only of changes.
    const state = stdout.isTTY
      ? describeMonitor(reply, Date.now()).join('\n')
      : JSON.stringify({ ...reply, updated_at: '' })
    if (state !== shown) {
      if (stdout.isTTY && !json) stdout.write(clearScreen)
      show(context, reply, json)
    }
    shown = state
    await wait(lookEveryMs, undefined, { signal }).catch(() => undefined)
  }
  // Watching has no other end than Ctrl-C: that is how it is meant.
  return exitCodes.fine
}

const clearScreen = '\u001b[H\u001b[2J'

function show({ output }: CommandContext, reply: MonitorReply, json: boolean | undefined): void {
  if (json) output.printJson(reply)
  else for (const line of describeMonitor(reply, Date.now())) output.print(line)
}

/** One line for the whole, one for each turn under way. */
export function describeMonitor(reply: MonitorReply, now: number): string[] {
  if (reply.turns.length === 0) return ['idle']
  return [
    `${words[reply.state]} (${reply.turns.length} ${reply.turns.length === 1 ? 'turn' : 'turns'})`,
    ...reply.turns.map((turn) => {
      const doing = turn.state === 'tools' ? turn.tools.join(', ') || words.tools : words[turn.state]
      const tokens = `${formatCount(turn.input_tokens)} in, ${formatCount(turn.output_tokens)} out`
      const since = formatDuration(Math.max(0, now - Date.parse(turn.started_at)))
      return `  ${turn.contact}: ${doing}, ${since}, round ${turn.round}, ${turn.model}, ${tokens}`
    }),
  ]
}

const words = { idle: 'idle', thinking: 'thinking', tools: 'running tools', retry_wait: 'waiting to try again' }

function nothingToWatch(): CommandError {
  return new CommandError('No daemon is running on this home: there is nothing to watch.', {
    exitCode: exitCodes.unreachable,
    code: 'unreachable',
    hint: 'Start one with: familiar serve',
  })
}
