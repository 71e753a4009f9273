import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { plural } from '../../base/format.ts'
import { parseJson } from '../../base/json.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import { importRecordSchema } from '../../daemon/import/import-record.ts'
import { undoImport } from '../../daemon/import/undo-import.ts'
import type { CommandHandler } from '../command.ts'
import { usageError } from '../command-error.ts'

/** `familiar import undo RECORD`: what was changed since stays. */
export const undoImportRecord: CommandHandler<{ record: string }> = async ({ homePath, output }, input) => {
  const path = resolve(input.record)
  const text = await readFile(path, 'utf8').catch(() => undefined)
  if (text === undefined) throw usageError(`There is nothing at ${path}.`)
  const record = parseJson(text, importRecordSchema)
  if (!record.ok) throw usageError(`${path} is no list of an import: ${record.message}`)
  const { removed, kept } = await undoImport(record.value, homePaths(homePath).workspace)
  if (input.json) output.printJson({ removed, kept })
  else {
    output.print(`${plural(removed.length, 'file')} taken away.`)
    for (const file of kept) output.note(`${file} has changed since, and stays.`)
  }
  return undefined
}
