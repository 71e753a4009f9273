import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { SandboxUnavailable } from '../sandbox.ts'
import { createEngineClient, type EngineClient } from './engine-client.ts'

export interface Engine {
  client: EngineClient
  kind: 'docker' | 'podman'
  /** As the engine spells it: `amd64`, `arm64`. */
  architecture: string
  version: string
}

const versionSchema = z.object({
  Version: z.string(),
  Arch: z.string(),
  Components: z.array(z.object({ Name: z.string() })).default([]),
})

/** The engine that answers: on the socket that is named, otherwise on one of the usual ones. */
export async function findEngine(options: {
  socketPath: string | null
  runtimeDirectory: string | null
  signal: AbortSignal
}): Promise<Engine> {
  const { socketPath, runtimeDirectory, signal } = options
  const usual = ['/var/run/docker.sock', '/run/podman/podman.sock']
  if (runtimeDirectory) usual.push(join(runtimeDirectory, 'docker.sock'), join(runtimeDirectory, 'podman/podman.sock'))
  const candidates = socketPath ? [socketPath] : usual.filter((path) => existsSync(path))
  const refusals: string[] = []
  for (const path of candidates) {
    try {
      return await askEngine(createEngineClient(path), signal)
    } catch (cause) {
      signal.throwIfAborted()
      refusals.push(`${path}: ${cause instanceof Error ? cause.message : String(cause)}`)
    }
  }
  const why = refusals.length > 0 ? refusals.join('; ') : 'none of the usual sockets is there'
  throw new SandboxUnavailable(
    `No container engine answers (${why})`,
    'Start Docker, or run: systemctl --user enable --now podman.socket',
  )
}

async function askEngine(client: EngineClient, signal: AbortSignal): Promise<Engine> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(answerWithinMs)])
  const { Version, Arch, Components } = await client.json(
    { method: 'GET', path: '/version', signal: patience },
    versionSchema,
  )
  const isPodman = Components.some(({ Name }) => /podman/i.test(Name))
  return { client, kind: isPodman ? 'podman' : 'docker', architecture: Arch, version: Version }
}

const answerWithinMs = 10_000
