import { setTimeout as wait } from 'node:timers/promises'
import type { MonitorReply } from '../protocol/api.ts'
import type { CommandContext, CommandHandler } from './command.ts'
import { CommandError, exitCodes } from './command-error.ts'
import { withFamiliar } from './connect.ts'
import { formatCount, formatDuration } from './format.ts'

const lookEveryMs = 500

export const monitor: CommandHandler<{ watch?: boolean }> = async (context, input) =>
  withFamiliar(context, async (client, { daemon }) => {
    if (!input.watch) {
      show(context, await client.monitor(), input.json === true)
      return undefined
    }
    if (!daemon) throw nothingToWatch()
    let shown = ''
    while (!context.signal.aborted) {
      const reply = await client.monitor()
      const lines = describeMonitor(reply, Date.now())
      // On a terminal the times run on; a pipe is told only of changes.
      const state = context.stdout.isTTY ? lines.join('\n') : JSON.stringify({ ...reply, updated_at: '' })
      if (state !== shown) {
        if (context.stdout.isTTY && !input.json) context.stdout.write(clearScreen)
        show(context, reply, input.json === true)
      }
      shown = state
      await wait(lookEveryMs, undefined, { signal: context.signal }).catch(() => undefined)
    }
    // Watching has no other end than Ctrl-C: that is how it is meant.
    return exitCodes.fine
  })

const clearScreen = '\u001b[H\u001b[2J'

function show({ output }: CommandContext, reply: MonitorReply, json: boolean): void {
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
