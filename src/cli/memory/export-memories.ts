import { once } from 'node:events'
import { resolve } from 'node:path'
import { formatBytes } from '../../base/format.ts'
import { writeFileAtomically } from '../../base/safe-file.ts'
import { splitLines } from '../../memory/transfer/numbered-line.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { CommandError, interrupted } from '../command-error.ts'
import { withMemory } from './with-memory.ts'

export interface ExportInput {
  file?: string
  format: 'jsonl' | 'markdown'
}

/** To a file that is whole or not there, or to standard output. */
export const exportMemories: CommandHandler<ExportInput> = async (context, input) => {
  const { output, signal } = context
  const path = input.file === undefined ? undefined : resolve(input.file)
  let isBegun = false
  const bytes = await withMemory(
    context,
    async (memory) => {
      // What is on standard output already cannot be begun again.
      if (isBegun) throw new CommandError('Familiar ended in the middle of the export.', { code: 'interrupted' })
      isBegun = path === undefined
      return write(context, memory.export(input.format, signal), path)
    },
    { endsOnAbort: true },
  ).catch((error: unknown) => {
    throw signal.aborted ? interrupted() : error
  })
  if (path === undefined) return undefined
  if (input.json) output.printJson({ path, bytes, format: input.format })
  else output.print(`${path}: ${formatBytes(bytes)}. In again: familiar memory import ${path}`)
  return undefined
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
  // On a terminal what is remembered must not drive it.
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
