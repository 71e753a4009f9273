import { FamiliarError } from '../../../protocol/error.ts'
import type { Database, Reader, Writer } from '../../../storage/database.ts'
import type { CapabilityFiles } from '../capability.ts'
import { checkFiles } from '../versions/capability-files.ts'
import { lockFile } from '../versions/lock.ts'
import type { OnBuildStep } from './build-step.ts'

interface BuildFile {
  buildId: string
  path: string
  content: string
}

/** The files that a build has written so far. They lie in the database, so that a crash takes none of them. */
export interface BuildFiles {
  /** In place of what was there. A path that leads elsewhere and what is too large are a `bad_request`. */
  write(file: BuildFile): Promise<void>
  read(buildId: string): Promise<CapabilityFiles>
}

export function createBuildFiles({ database, onStep }: { database: Database; onStep: OnBuildStep }): BuildFiles {
  return {
    async write(file) {
      await database.write((writer) => putBuildFileIn(writer, file))
      onStep('file_written')
    },
    read: (buildId) => readBuildFiles(database.read, buildId),
  }
}

export async function putBuildFileIn(writer: Writer, { buildId, path, content }: BuildFile): Promise<void> {
  const files = new Map(await readBuildFiles(writer, buildId)).set(path, Buffer.from(content))
  const problems = checkFiles(files)
  if (path === lockFile) problems.push(`${lockFile} is written by the registration.`)
  if (problems.length > 0) throw new FamiliarError('bad_request', problems.join(' '))
  await writer
    .insertInto('build_files')
    .values({ build_id: buildId, path, content })
    .onConflict((conflict) => conflict.columns(['build_id', 'path']).doUpdateSet({ content }))
    .execute()
}

async function readBuildFiles(reader: Reader | Writer, buildId: string): Promise<CapabilityFiles> {
  const rows = await reader
    .selectFrom('build_files')
    .select(['path', 'content'])
    .where('build_id', '=', buildId)
    .orderBy('path')
    .execute()
  return new Map(rows.map(({ path, content }) => [path, Buffer.from(content)]))
}
