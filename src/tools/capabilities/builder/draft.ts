import type { Build } from '../builds/builds.ts'
import type { CapabilityFiles, CapabilityManifest } from '../capability.ts'
import { readManifest } from '../manifest/read-manifest.ts'
import { readRequirements } from '../manifest/read-requirements.ts'
import { readText } from '../versions/capability-files.ts'

/** What a build has written so far, as far as it can be run. */
export interface Draft {
  files: CapabilityFiles
  manifest: CapabilityManifest
  requirements: readonly string[]
  /** Why the manifest is not the one that was written. */
  problem: string | undefined
}

/** Without a manifest that can be read it has no network, no secrets and no storage. */
export function readDraft(build: Build, files: CapabilityFiles): Draft {
  const requirements = readRequirements(readText(files, 'requirements.txt') ?? '')
  const written = readText(files, 'manifest.json')
  const reading = written === undefined ? undefined : readManifest(written)
  if (reading?.ok) return { files, manifest: reading.manifest, requirements, problem: undefined }
  return { files, manifest: bareManifest(build, files), requirements, problem: reading?.problems.join(' ') }
}

function bareManifest({ name, request }: Build, files: CapabilityFiles): CapabilityManifest {
  return {
    name,
    description: request.description,
    runtime: files.has('main.js') && !files.has('main.py') ? 'node' : 'python',
    inputSchema: request.inputSchema,
    tags: [],
    askedAs: [],
    hosts: [],
    secrets: [],
    storage: false,
    timeoutMs: 30_000,
    memoryBytes: 256 * 1024 ** 2,
  }
}
