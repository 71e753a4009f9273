import { resolve } from 'node:path'
import { formatCount, plural } from '../../base/format.ts'
import type { SyncReply } from '../../protocol/memory-upkeep-api.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { usageError } from '../command-error.ts'
import type { Output } from '../output.ts'
import { watchProgress } from './watch-progress.ts'
import { withMemory } from './with-memory.ts'

export interface IndexInput {
  path?: string
  remove?: string
  list?: boolean
}

export const indexFiles: CommandHandler<IndexInput> = async (context, input) => {
  if (input.path !== undefined && (input.list || input.remove !== undefined)) {
    throw usageError('One thing at a time: a path to add, --remove PATH, or --list.')
  }
  if (input.list) return listRoots(context, input.json)
  if (input.remove !== undefined) return removeRoot(context, resolve(input.remove), input.json)
  const path = input.path === undefined ? undefined : resolve(input.path)
  const report = await watchProgress(context, {
    describe: ({ done, total, path }) => `${formatCount(done)} of ${plural(total, 'file')}: ${path}`,
    stopped: 'Stopped. What is indexed stays; the same command goes on from there.',
    async work(memory, watched) {
      if (path !== undefined) await memory.addRoot(path)
      return memory.sync(watched)
    },
  })
  if (input.json) context.output.printJson(report)
  else printReport(context.output, report)
  return undefined
}

function printReport(output: Output, report: SyncReply): void {
  const { files, added, changed, removed, passages, roots, skipped } = report
  output.print(`${plural(files, 'file')} indexed: ${added} new, ${changed} changed, ${removed} gone.`)
  output.print(`${plural(passages.added, 'passage')} added, ${formatCount(passages.removed)} removed.`)
  for (const { path, state, message, is_workspace } of roots) {
    if (state !== 'found' && !is_workspace) output.note(`${path}: ${message ?? state}`)
  }
  for (const { path, message } of skipped.examples) output.note(`Left out: ${path}: ${message}`)
}

async function listRoots(context: CommandContext, json: boolean | undefined): Promise<undefined> {
  const { output } = context
  const reply = await withMemory(context, (memory) => memory.roots())
  if (json) {
    output.printJson(reply)
    return undefined
  }
  output.printTable(
    reply.roots.map(({ path, files, is_workspace }) => [
      formatCount(files),
      is_workspace ? 'workspace' : 'added',
      path,
    ]),
    { header: ['Files', '', 'Path'] },
  )
}

async function removeRoot(context: CommandContext, path: string, json: boolean | undefined): Promise<undefined> {
  const { output } = context
  const reply = await withMemory(context, (memory) => memory.removeRoot(path))
  if (json) output.printJson(reply)
  else output.print(`${path} is no longer indexed. The files themselves are as they were.`)
}
