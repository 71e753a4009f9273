import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { parseJson } from '../../../src/base/json.ts'
import type { SandboxDriver } from '../../../src/sandbox/sandbox.ts'
import { commandOf, megabyte, textOf } from '../../contract/sandbox-support.ts'
import type { HostScene } from './host-scene.ts'

export interface ProbeReport {
  name: string
  /** Its announced attempt. Undefined: it never started. */
  attempt: string | undefined
  end: 'stopped' | 'escaped' | 'broken'
  detail: string
}

const folder = join(import.meta.dirname, 'probes')
const groups = ['files', 'kernel', 'sockets'] as const

/** All probes that there are, by what their source says: one that is not reported did not run. */
export function probeNames(): string[] {
  return groups.flatMap(namesIn)
}

function namesIn(group: string): string[] {
  const source = readFileSync(join(folder, `${group}.py`), 'utf8')
  return [...source.matchAll(/^@probe\("([^"]+)"/gm)].map(([, name = '']) => name)
}

/** Runs the probes, a group of them in one sandbox: they do not disturb each other. A group is run whole or not at all. */
export async function runProbes(
  driver: SandboxDriver,
  scene: HostScene,
  names: readonly string[] = probeNames(),
): Promise<ProbeReport[]> {
  const wanted = groups.filter((group) => namesIn(group).some((name) => names.includes(name)))
  const reports = await Promise.all(wanted.map((group) => runGroup(driver, scene, group)))
  return reports.flat()
}

const lineSchema = z.object({
  nonce: z.string(),
  probe: z.string(),
  attempt: z.string().optional(),
  end: z.enum(['stopped', 'escaped', 'broken']).optional(),
  detail: z.string().optional(),
})

async function runGroup(driver: SandboxDriver, scene: HostScene, group: string): Promise<ProbeReport[]> {
  const nonce = randomUUID()
  const outcome = await driver.run(
    commandOf(['python3', `/probes/${group}.py`], {
      mounts: [...scene.mounts, { source: folder, target: '/probes' }],
      workingDirectory: '/tool',
      stdin: JSON.stringify({ ...scene.told, nonce }),
      isWritable: true,
      limits: { wallMs: 60_000, memoryBytes: 256 * megabyte, processes: 64 },
    }),
  )
  const printed = textOf(outcome.stdout)
  const broken = outcome.end.kind !== 'exited' || outcome.stderr.length > 0
  if (broken) throw new Error(`The probes of ${group} ended as ${outcome.end.kind}: ${textOf(outcome.stderr)}`)
  const reports = new Map<string, ProbeReport>()
  for (const line of printed.split('\n').filter(Boolean)) {
    const parsed = parseJson(line, lineSchema)
    // Only what carries the number of this run was said by this run.
    if (!parsed.ok || parsed.value.nonce !== nonce) throw new Error(`Not from a probe: ${line}`)
    const { probe, attempt, end, detail = '' } = parsed.value
    const known = reports.get(probe)
    if (!known) reports.set(probe, { name: probe, attempt, end: 'broken', detail: 'it never ended' })
    else if (end) reports.set(probe, { ...known, end, detail })
  }
  const isRead = printed.includes(scene.secret)
  return [...reports.values(), ...(isRead ? [leak(group)] : [])]
}

function leak(group: string): ProbeReport {
  return { name: `secret in ${group}`, attempt: 'print what was read', end: 'escaped', detail: 'the secret came out' }
}
