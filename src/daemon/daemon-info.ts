import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { z } from 'zod'
import { parseJson } from '../base/json.ts'
import { writeFileAtomically } from '../base/safe-file.ts'
import { homePaths } from './home-paths.ts'
import { isSameProcess } from './process-identity.ts'

const recordSchema = z.object({
  pid: z.int().positive(),
  identity: z.string(),
  startedAt: z.number(),
  /** Null until it listens. */
  url: z.string().nullable(),
  credential: z.string().nullable(),
})
export type DaemonRecord = z.infer<typeof recordSchema>

/** How the CLI reaches the daemon of this home. The credential lives as long as the daemon does. */
export interface DaemonInfo {
  pid: number
  startedAt: number
  url: string
  credential: string
}

/** Only for the process that holds the lock; readable by this user alone. */
export async function writeDaemonInfo(home: string, info: { url: string; credential: string }): Promise<void> {
  const record = readRecord(home)
  if (!record || record.pid !== process.pid) throw new Error('The daemon lock is not held by this process')
  await writeRecord(home, { ...record, ...info })
}

/** The daemon that is running and listens; undefined where there is none, whatever an earlier one left behind. */
export function readDaemonInfo(home: string): DaemonInfo | undefined {
  const record = readLiveRecord(home)
  if (!record || record.url === null || record.credential === null) return undefined
  const { pid, startedAt, url, credential } = record
  return { pid, startedAt, url, credential }
}

/** Also of a daemon that is still starting. */
export function readLiveRecord(home: string): DaemonRecord | undefined {
  const record = readRecord(home)
  return record && isSameProcess(record.pid, record.identity) ? record : undefined
}

export async function writeRecord(home: string, record: DaemonRecord): Promise<void> {
  await writeFileAtomically(homePaths(home).daemonInfo, `${JSON.stringify(record)}\n`)
}

export async function removeRecord(home: string): Promise<void> {
  await rm(homePaths(home).daemonInfo, { force: true })
}

function readRecord(home: string): DaemonRecord | undefined {
  try {
    const parsed = parseJson(readFileSync(homePaths(home).daemonInfo, 'utf8'), recordSchema)
    return parsed.ok ? parsed.value : undefined
  } catch {
    return undefined
  }
}
