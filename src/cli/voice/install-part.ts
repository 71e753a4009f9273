import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ensurePrivateDirectory } from '../../base/safe-file.ts'
import { markName, markOf } from '../../voice/files/installed-parts.ts'
import type { VoicePart } from '../../voice/files/voice-parts.ts'
import { CommandError } from '../command-error.ts'
import type { PartSource } from './part-sources.ts'

export interface InstallRequest {
  part: VoicePart
  /** Where all parts lie, each in a folder of its name. */
  directory: string
  /** Asked one after the other, until one brings the right files. */
  sources: Readonly<Record<string, PartSource>>
  env: Readonly<Record<string, string | undefined>>
  signal: AbortSignal
}

/**
 * Fetches a part, checks every file and puts its folder in place: whole or not at all. What an earlier run left half done
 * is removed. Throws with what every source said.
 */
export async function installPart({ part, directory, sources, env, signal }: InstallRequest): Promise<void> {
  await ensurePrivateDirectory(directory)
  await removeLeftovers(directory)
  const temporary = await mkdtemp(join(directory, `.install-${process.pid}-`))
  const problems: string[] = []
  try {
    for (const [name, source] of Object.entries(sources)) {
      const folder = join(temporary, name)
      await mkdir(folder)
      try {
        await source({ part, folder, env, signal })
        await putInPlace(await collect(part, folder, join(temporary, `${name}-whole`)), join(directory, part.name))
        return
      } catch (error) {
        signal.throwIfAborted()
        problems.push(`${name}: ${reasonOf(error)}`)
      }
    }
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
  throw new CommandError(`${part.name} could not be fetched (${problems.join('; ')}).`, {
    code: 'unavailable',
    hint: 'Check the network connection and try again. HF_ENDPOINT names a mirror of the hub.',
  })
}

/** `fetch` says only that it failed; the cause behind it says why. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message
}

/** The part's files alone, each of them the one that was expected. */
async function collect(part: VoicePart, from: string, whole: string): Promise<string> {
  await mkdir(whole, { mode: 0o700 })
  for (const { name, hash } of part.files) {
    const file = join(from, name)
    if (!existsSync(file)) throw new Error(`${name} is missing`)
    const digest = createHash('sha256')
    await pipeline(createReadStream(file), digest)
    if (digest.digest('hex') !== hash) throw new Error(`${name} is not the file that was expected`)
    await rename(file, join(whole, name))
  }
  await writeFile(join(whole, markName), markOf(part), { mode: 0o600 })
  return whole
}

async function putInPlace(whole: string, place: string): Promise<void> {
  await rm(place, { recursive: true, force: true })
  await rename(whole, place)
}

/** Those of processes that are gone. */
async function removeLeftovers(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const [, pid] = /^\.install-(\d+)-/.exec(name) ?? []
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(directory, name), { recursive: true, force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return pid !== process.pid
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
