import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { createFloodGate, largestMessageBytes } from './flood-gate.ts'
import { createLineReader } from './line-reader.ts'
import { type ServerProgram, startProgram } from './server-program.ts'

type Parse = (line: string) => JSONRPCMessage

const mostBadLines = 100

export interface ProgramTransport extends Transport {
  /** These two tell the protocol that it speaks to a program. */
  readonly pid: number | null
  readonly stderr: null
  /** Why it ended by itself, or had to be ended; empty otherwise. */
  reason(): string
}

/** Messages as lines over a program's standard input and output, each held to a size and all of them to a rate. */
export function createProgramTransport(
  options: Omit<Parameters<typeof startProgram>[0], 'onData' | 'onEnd'> & { parse: Parse },
): ProgramTransport {
  const { clock, parse } = options
  const gate = createFloodGate(clock)
  const reader = createLineReader()
  let program: ServerProgram | undefined
  let badLines = 0
  let isClosing = false
  /** Why nothing more is read of it; empty while all is well. */
  let reason = ''

  function give(line: string): void {
    if (line.trim() === '') return
    let message: JSONRPCMessage
    try {
      message = parse(line)
    } catch {
      // Some print a greeting or a log line there. Nothing else than that is one that cannot be spoken to.
      badLines += 1
      if (badLines > mostBadLines) breakOff(`it writes what is no message (${badLines} lines of it)`)
      return
    }
    badLines = 0
    try {
      transport.onmessage?.(message)
    } catch (cause) {
      breakOff(`it writes what cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`)
    }
  }

  function take(bytes: Buffer): void {
    const lines = reader.take(bytes)
    const isTooLong = reader.waiting() > largestMessageBytes
    if (isTooLong) breakOff(`it writes a message of more than ${largestMessageBytes} bytes`)
    else if (!gate.take({ messages: lines.length, bytes: bytes.length }))
      breakOff('it floods: nobody could read that much')
    for (const line of lines) if (reason === '') give(line)
  }

  function breakOff(why: string): void {
    reason = why
    program?.kill()
    transport.onerror?.(new Error(why))
  }

  const transport: ProgramTransport = {
    get pid() {
      return program?.pid ?? null
    },
    stderr: null,
    reason: () => reason,
    async start() {
      if (program) throw new Error('The program was started already')
      program = startProgram({
        ...options,
        onData: (bytes) => {
          if (reason === '' && !isClosing) take(bytes)
        },
        onEnd(why) {
          if (!isClosing) reason ||= why
          transport.onclose?.()
        },
      })
    },
    async send(message) {
      if (!program?.write(`${JSON.stringify(message)}\n`)) throw new Error(`The program is not there: ${reason}`)
    },
    async close() {
      isClosing = true
      await program?.end()
    },
  }
  return transport
}
