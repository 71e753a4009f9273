import { open } from 'node:fs/promises'
import { formatCount, plural } from '../../base/format.ts'
import type { ImportReply } from '../../protocol/memory-upkeep-api.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { CommandError, exitCodes } from '../command-error.ts'
import type { Output } from '../output.ts'
import { readInput } from './read-input.ts'
import { watchProgress } from './watch-progress.ts'

export interface ImportInput {
  file: string
  mine?: boolean
  folders?: boolean
}

const shownProblems = 20

export const importMemories: CommandHandler<ImportInput> = async (context, input) => {
  const { output } = context
  const read = await openSource(context, input.file)
  const reply = await watchProgress(context, {
    describe: ({ line, added }) => `line ${formatCount(line)}, ${plural(added, 'memory', 'memories')} added`,
    stopped: 'Stopped. What was read is kept; the same file again completes it.',
    work: (memory, watched) =>
      memory.import(
        { data: read(), label: input.mine ? 'owner' : 'untrusted', addFolders: input.folders === true },
        watched,
      ),
  })
  if (input.json) output.printJson(reply)
  else printReport(output, reply)
  return reply.problems.count === 0 ? exitCodes.fine : exitCodes.failed
}

/** Its bytes, from the beginning each time: the work may have to begin again. */
async function openSource(context: CommandContext, path: string): Promise<() => AsyncIterable<Uint8Array>> {
  if (path === '-') {
    const given = await readInput(context)
    return () => once(given)
  }
  const file = await open(path).catch((cause: NodeJS.ErrnoException) => {
    throw new CommandError(`Cannot read ${path}: ${reasons[cause.code ?? ''] ?? cause.message}`, { cause })
  })
  if (!(await file.stat()).isFile()) throw new CommandError(`Cannot read ${path}: it is not a file.`)
  return () => file.createReadStream({ start: 0, autoClose: false })
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

function printReport(output: Output, reply: ImportReply): void {
  const { added, known, folders, problems } = reply
  const what = [plural(added.memories, 'memory', 'memories'), plural(added.edges, 'edge'), plural(added.names, 'name')]
  output.print(`${what.join(', ')} added; ${formatCount(known)} known already.`)
  for (const path of folders.added) output.print(`Indexed from now on: ${path}`)
  for (const path of folders.left) output.print(`Not indexed: ${path} (familiar memory index ${path})`)
  if (problems.count === 0) return
  output.note(`${plural(problems.count, 'line')} could not be used:`)
  for (const { line, message } of problems.first.slice(0, shownProblems)) output.note(`  line ${line}: ${message}`)
  if (problems.count > shownProblems) output.note(`  and ${formatCount(problems.count - shownProblems)} more`)
}

const reasons: Record<string, string> = {
  ENOENT: 'there is no such file.',
  EACCES: 'no permission to read it.',
  EISDIR: 'it is not a file.',
}
