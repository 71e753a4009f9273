import type { ToolConfigField } from '../tool-catalog.ts'
import { describeByteSize, readByteSize } from './byte-size.ts'
import type { Findings } from './findings.ts'
import type { ToolManifest } from './manifest.ts'
import type { WrittenManifest } from './manifest-schema.ts'
import { readHost, readUrlHost } from './read-host.ts'

const usualMemory = 256 * 1024 ** 2
const leastMemory = 4 * 1024 ** 2
const mostMemory = 2 * 1024 ** 3
const usualTimeoutSeconds = 9
const mostTimeoutSeconds = 300

/** Where it may go: the hosts that it lists, and those of the addresses that it has as defaults of its settings. */
export function readNetwork(
  { sandbox }: WrittenManifest,
  configuration: readonly ToolConfigField[],
  { problem }: Findings,
): ToolManifest['network'] {
  const listed = (sandbox?.hosts ?? []).flatMap((text, index) => {
    const host = readHost(text)
    if (host === undefined) problem(`sandbox.hosts[${index}]`, 'a host such as "api.example.com"', text)
    return host ?? []
  })
  const fromDefaults = configuration.flatMap((field) => readUrlHost(field.default) ?? [])
  return { mode: sandbox?.network ?? 'bridge', hosts: [...new Set([...listed, ...fromDefaults])] }
}

export function readLimits({ sandbox, constraints }: WrittenManifest, findings: Findings): ToolManifest['limits'] {
  return {
    memoryBytes: readMemory(sandbox?.memory ?? usualMemory, findings),
    timeoutMs: readTimeout(constraints?.timeout_seconds ?? usualTimeoutSeconds, findings),
    isWritable: sandbox?.writable ?? false,
  }
}

function readMemory(written: string | number, { problem, note }: Findings): number {
  const bytes = readByteSize(written)
  if (bytes === undefined || bytes < leastMemory) {
    problem('sandbox.memory', `a size such as "256m", at least "4m"`, written)
    return usualMemory
  }
  if (bytes <= mostMemory) return bytes
  note(`sandbox.memory: held to ${describeByteSize(mostMemory)}`)
  return mostMemory
}

function readTimeout(seconds: number, { note }: Findings): number {
  if (seconds > mostTimeoutSeconds) note(`constraints.timeout_seconds: held to ${mostTimeoutSeconds} seconds`)
  return Math.ceil(Math.min(seconds, mostTimeoutSeconds) * 1_000)
}
