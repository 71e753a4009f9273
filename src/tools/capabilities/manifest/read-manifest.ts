import { parseAnyJson } from '../../../base/json.ts'
import { isDeeperThan } from '../../contract/json-depth.ts'
import { describeFound, describeIssues } from '../../contract/manifest/describe-issue.ts'
import { findHiddenIn } from '../../contract/manifest/hidden-characters.ts'
import { readHost } from '../../contract/manifest/read-host.ts'
import type { CapabilityManifest } from '../capability.ts'
import { manifestSchema } from './manifest-schema.ts'

export type ManifestReading = { ok: true; manifest: CapabilityManifest } | { ok: false; problems: string[] }

const deepest = 20
const longestSchema = 16 * 1024
const usualTimeoutSeconds = 30
const usualMemoryMegabytes = 256

/** The text of a `manifest.json`, or every place where it is wrong, with what stands there and what is expected. Never throws. */
export function readManifest(text: string): ManifestReading {
  const parsed = parseAnyJson(text)
  if (!parsed.ok) return wrong([`it is no JSON: ${parsed.message}`])
  // Before anything walks it.
  if (isDeeperThan(parsed.value, deepest)) return wrong(['expected a value that is not nested this deeply'])
  const hidden = findHiddenIn(parsed.value, 'the manifest')
  if (hidden) return wrong([`${hidden.path}: expected characters that can be seen, found ${hidden.character}`])
  const checked = manifestSchema.safeParse(parsed.value, { reportInput: true })
  if (!checked.success) return wrong([describeIssues(checked.error.issues)])
  const written = checked.data
  const problems: string[] = []
  const inputSchema = written.input_schema as CapabilityManifest['inputSchema']
  if (JSON.stringify(inputSchema).length > longestSchema) {
    problems.push(`input_schema: expected at most ${longestSchema / 1024} KB`)
  }
  const hosts = (written.hosts ?? []).flatMap((host, index) => {
    const read = readHost(host)
    if (read === undefined) {
      problems.push(`hosts[${index}]: expected a host such as "api.example.com", found ${describeFound(host)}`)
    }
    return read ?? []
  })
  const secrets = (written.secrets ?? []).map((secret) =>
    typeof secret === 'string'
      ? { name: secret, description: '' }
      : { name: secret.name, description: secret.description ?? '' },
  )
  const twice = secrets.find(({ name }, index) => secrets.findIndex((other) => other.name === name) !== index)
  if (twice) problems.push(`secrets: expected each name once, found ${describeFound(twice.name)}`)
  if (problems.length > 0) return wrong(problems)
  const manifest: CapabilityManifest = {
    name: written.name,
    description: written.description,
    runtime: written.runtime ?? 'python',
    inputSchema,
    tags: [...new Set(written.tags ?? [])],
    askedAs: [...new Set(written.asked_as ?? [])],
    hosts: [...new Set(hosts)],
    secrets,
    storage: written.storage ?? false,
    timeoutMs: Math.ceil((written.timeout_seconds ?? usualTimeoutSeconds) * 1_000),
    memoryBytes: (written.memory_mb ?? usualMemoryMegabytes) * 1024 ** 2,
  }
  return { ok: true, manifest }
}

function wrong(problems: string[]): ManifestReading {
  return { ok: false, problems: problems.map((problem) => `manifest.json: ${problem}.`) }
}
