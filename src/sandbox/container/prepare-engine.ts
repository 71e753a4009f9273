import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Logger } from '../../base/logger.ts'
import { replaceFile } from '../../base/safe-file.ts'
import { instanceName, isAbandoned } from '../embedded/instance.ts'
import { lifeLabel } from './container-spec.ts'
import { type EntryKit, prepareEntryKit } from './entry-kit.ts'
import { type Engine, findEngine } from './find-engine.ts'
import { createImageBuilds, type ImageBuilds } from './image-builds.ts'
import { type MachineImage, prepareMachineImage } from './machine-image.ts'
import { removeContainer } from './run-container.ts'
import { seccompProfile } from './seccomp-profile.ts'

/** An engine and everything that runs on it share. */
export interface ReadyEngine extends Engine {
  kit: EntryKit | undefined
  /** Undefined where this machine's programs would not run inside. */
  machine: MachineImage | undefined
  images: ImageBuilds
  /** How this engine is told which calls to let through. */
  seccomp: string
  /** The name of this life of the driver, by which a later one knows what was left behind. */
  life: string
  /** Where mounts are copied to that the user inside could not read where they lie. */
  copies: string
}

export async function prepareEngine(options: {
  socketPath: string | null
  runtimeDirectory: string | null
  directory: string
  logger: Logger
  /** Ends the builds too. */
  signal: AbortSignal
}): Promise<ReadyEngine> {
  const { directory, logger, signal } = options
  const engine = await findEngine(options)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await removeLeftovers(engine, directory, logger)
  // An engine in a virtual machine or elsewhere may not run what this machine runs.
  const kit = engine.architecture === ownArchitecture ? await prepareEntryKit(directory) : undefined
  const machine = kit && (await prepareMachineImage(directory))
  const images = createImageBuilds({ client: engine.client, home: directory, logger, closing: signal })
  const profile = JSON.stringify(seccompProfile(engine.architecture))
  const profilePath = join(directory, 'seccomp.json')
  await replaceFile(profilePath, profile)
  // Docker is handed the list itself, Podman the name of its file.
  const seccomp = `seccomp=${engine.kind === 'podman' ? profilePath : profile}`
  const life = instanceName()
  const copies = join(directory, `copies-${life}`)
  await mkdir(copies, { mode: 0o700 })
  return { ...engine, kit, machine, images, seccomp, life, copies }
}

/** As engines spell it. */
const ownArchitecture = process.arch === 'x64' ? 'amd64' : process.arch

/** What a life of ours left that ended without cleaning up. Another process of the same home keeps what is its own. */
async function removeLeftovers({ client }: Engine, directory: string, logger: Logger): Promise<void> {
  const query = { all: '1', filters: JSON.stringify({ label: [lifeLabel] }) }
  const all = await client.json({ method: 'GET', path: '/containers/json', query }, containersSchema)
  const left = all.filter(({ Labels }) => isAbandoned(Labels[lifeLabel] ?? ''))
  for (const { Id } of left) await removeContainer(client, Id)
  if (left.length > 0) logger.warn('Removed containers that were left behind', { count: left.length })
  for (const name of await readdir(directory)) {
    const of = /^(?:copies|run)-(.+)$/.exec(name)?.[1]
    if (of && isAbandoned(of)) await rm(join(directory, name), { recursive: true, force: true })
  }
}

const containersSchema = z.array(z.object({ Id: z.string(), Labels: z.record(z.string(), z.string()) }))
