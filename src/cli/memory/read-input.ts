import { addAbortSignal } from 'node:stream'
import type { CommandContext } from '../command.ts'

/** All of standard input. */
export async function readInput({ stdin, signal }: CommandContext): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of addAbortSignal(signal, stdin)) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}
