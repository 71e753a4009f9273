import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { readDaemonInfo } from '../../daemon/daemon-info.ts'
import type { TokenScope } from '../../policy/access-tokens.ts'
import { createLineReader } from '../../tools/mcp/line-reader.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { type Connection, connect } from '../connect.ts'
import { createMcpBridge } from './serve-bridge.ts'
import type { McpPlace } from './serve-link.ts'

const largestMessageBytes = 10 * 1024 * 1024
/** What was asked before the client closed its end may still be answered. */
const lastAnswersMs = 1_000
/** A daemon that is restarted is given the home first. */
const restartMs = 10_000
const pauseMs = 200

/** `familiar mcp`: Familiar as an MCP server on standard input and output. Nothing but messages is written there. */
export const serveMcp: CommandHandler<{ scope?: TokenScope }> = async (context, { scope }) => {
  const { stdin, stdout, stderr, signal } = context
  const connections: Connection[] = []
  const bridge = createMcpBridge({
    reach: () => reach(context, connections),
    untilBack: (ending) => untilServed(context, ending),
    write: (line) => void stdout.write(`${line}\n`),
    note: (line) => void stderr.write(`${line}\n`),
    scope,
  })
  try {
    await Promise.race([readLines(stdin, bridge.take), aborted(signal)])
    if (!signal.aborted) await Promise.race([bridge.settled(), wait(lastAnswersMs, undefined, { ref: false })])
  } finally {
    await bridge.end()
    for (const connection of connections) await connection.close()
  }
  return undefined
}

/** The running daemon, or one inside this process. Where one has gone, another may be about to come. */
async function reach(context: CommandContext, connections: Connection[]): Promise<McpPlace> {
  const isAgain = connections.length > 0
  if (isAgain) await untilServed(context, AbortSignal.timeout(restartMs)).catch(() => undefined)
  connections.push(await connect(context, { talks: true }))
  const place = readDaemonInfo(context.homePath)
  if (!place) throw new CommandError('Familiar has gone again.', { code: 'unreachable' })
  return place
}

async function untilServed({ homePath, signal }: CommandContext, ending: AbortSignal): Promise<void> {
  const either = AbortSignal.any([signal, ending])
  while (!readDaemonInfo(homePath)) await wait(pauseMs, undefined, { signal: either })
}

async function readLines(stdin: NodeJS.ReadStream, take: (line: string) => void): Promise<void> {
  const reader = createLineReader()
  for await (const chunk of stdin) {
    for (const line of reader.take(Buffer.from(chunk))) take(line)
    if (reader.waiting() > largestMessageBytes) {
      throw new CommandError('A message of the client is larger than 10 MB.', { code: 'payload_too_large' })
    }
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}
