import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { toFileError } from '../base/files.ts'
import { FamiliarError } from '../protocol/errors.ts'
import { type CapabilityGate, type Registration, whyTaken } from './builder/gate.ts'
import { completeFiles, skillFile } from './builder/inspect-files.ts'
import type { CapabilityCatalog } from './built-catalog.ts'
import { type CapabilityManifest, describePermissions } from './manifest.ts'
import { type CapabilityFiles, readToolFolder } from './tool-folder.ts'
import { type CapabilityVersion, lockFile } from './versions.ts'

interface GateJob {
  onProgress(line: string): void
  signal: AbortSignal
}

/** As the names of skills must be: small letters, digits and single hyphens between them. */
export function skillName(name: string): string {
  return name.replaceAll(/_+/g, '-').replace(/-$/, '')
}

const maxDescriptionLength = 1_024

// Secrets come from the environment there; what is kept between calls needs Familiar.
const commands = {
  python: `python3 -c 'import inspect, json, os, sys, types, main
given = json.loads(sys.argv[1]), types.SimpleNamespace(secrets=os.environ)
print(main.run(*given[: len(inspect.signature(main.run).parameters)]))' '{…}'`,
  node: `node --input-type=module -e 'import * as main from "./main.js"
const run = main.run ?? main.default.run
console.log(await run(JSON.parse(process.argv[1]), { secrets: process.env }))' '{…}'`,
} as const

/** The SKILL.md of a capability, for use without Familiar: its purpose, and how to run it. */
function skillText(
  manifest: CapabilityManifest,
  { version, hasRequirements }: { version: number; hasRequirements: boolean },
): string {
  const { name, runtime, inputSchema, secrets, storage, askedAs } = manifest
  // Agents choose a skill by its description alone, so it also says how people ask for it.
  const asked = askedAs.length > 0 ? ` For requests such as: ${askedAs.join(' / ')}` : ''
  const whole = `${manifest.description}${asked}`.replaceAll(/\s+/g, ' ')
  const description = whole.slice(0, maxDescriptionLength).toWellFormed()
  const needs = runtime === 'python' ? 'Python 3.9 or newer' : 'Node.js 22.7 or newer'
  const language = runtime === 'python' ? 'main.py' : 'main.js'
  const given = [
    ...(secrets.length > 0 ? [`\`context.secrets\` holds ${secrets.map((secret) => secret.name).join(', ')}.`] : []),
    ...(storage ? ['`context.storage` has `get`, `set`, `delete` and `keys`.'] : []),
  ]
  return `---
name: ${skillName(name)}
description: ${JSON.stringify(description)}
compatibility: ${JSON.stringify(`Needs ${needs}.`)}
metadata:
  capability: ${JSON.stringify(name)}
  version: ${JSON.stringify(String(version))}
---

# ${name}

${manifest.description}

## Run it

\`${language}\` has a function \`run(args, context)\`, which may leave out the second.${given.map((line) => ` ${line}`).join('')}
It takes an object that fits this schema, and returns a text or an object:

\`\`\`json
${JSON.stringify(inputSchema, null, 2)}
\`\`\`

In this folder, by hand, with secrets from the environment and nothing kept between calls:

\`\`\`sh
${hasRequirements ? 'pip install -r requirements.txt\n' : ''}${commands[runtime]}
\`\`\`

\`examples.json\` has inputs, with what is expected of each.

## What it does beyond computing

${describePermissions(manifest)
  .map((line) => `- ${line}`)
  .join('\n')}

With Familiar: \`familiar caps import\` with this folder, then \`familiar caps enable ${name}\`.
`
}

/**
 * Writes a version as a folder that is also an Agent Skill. A skill's folder has its name: what is asked for under another
 * name becomes the folder around it. The skill's own must not be there yet, or be empty; nothing is ever written over.
 */
async function exportFolder(
  target: string,
  { manifest, version }: CapabilityVersion,
  content: CapabilityFiles,
): Promise<{ directory: string; files: string[] }> {
  const asked = resolve(target)
  const name = skillName(manifest.name)
  const directory = basename(asked) === name ? asked : join(asked, name)
  const files = new Map(content)
  files.delete(lockFile)
  const hasRequirements = files.has('requirements.txt')
  files.set(skillFile, new TextEncoder().encode(skillText(manifest, { version, hasRequirements })))
  try {
    await mkdir(directory, { recursive: true })
    if ((await readdir(directory)).length > 0) {
      throw new FamiliarError('conflict', `${directory} is there already and is not empty.`)
    }
    for (const [path, bytes] of files) {
      await mkdir(dirname(join(directory, path)), { recursive: true })
      await writeFile(join(directory, path), bytes, { flag: 'wx' })
    }
  } catch (cause) {
    throw toFileError(directory, cause)
  }
  return { directory, files: [...files.keys()].sort() }
}

type FolderReading = { ok: true; files: CapabilityFiles } | { ok: false; problem: string }

/** Reads a folder of this machine once, without hidden files and compiled Python. The gate checks the content. */
async function readCapabilityFolder(directory: string): Promise<FolderReading> {
  const reading = await readToolFolder(directory, { isPrivate: true })
  if (!reading.ok) return reading
  return { ok: true, files: new Map(reading.folder.files.map(({ path, bytes }) => [path, bytes])) }
}

export type CapabilityFolders = ReturnType<typeof createCapabilityFolders>

/**
 * Built tools as folders of this machine: written by hand, imported, exported (CAP-9). For the local command line alone
 * (SEC-4). A problem with a folder is in the answer.
 */
export function createCapabilityFolders(dependencies: {
  catalog: Pick<CapabilityCatalog, 'find' | 'version' | 'read' | 'publish' | 'setEnabled'>
  gate: CapabilityGate
}) {
  const { catalog, gate } = dependencies

  async function needVersion(userId: string, name: string): Promise<CapabilityVersion> {
    const version = await catalog.version(userId, name)
    if (version) return version
    const isThere = catalog.find(userId, name) !== undefined
    throw new FamiliarError('not_found', isThere ? `${name} has no version yet.` : `There is no capability ${name}.`)
  }

  return {
    /** The whole gate, and then a version that serves (CAP-4). */
    async register(userId: string, directory: string, options: GateJob): Promise<Registration> {
      const reading = await readCapabilityFolder(directory)
      if (!reading.ok) return refused([reading.problem])
      return await gate.register(reading.files, { userId, origin: 'written', ...options })
    },

    /** Nothing of it runs: it is there, and off until its permissions are approved (CAP-9). */
    async importFrom(userId: string, directory: string, signal: AbortSignal): Promise<Registration> {
      const reading = await readCapabilityFolder(directory)
      if (!reading.ok) return refused([reading.problem])
      const verdict = await gate.inspect(reading.files, signal)
      if (!verdict.ok) return verdict
      const { manifest } = verdict
      const existing = catalog.find(userId, manifest.name)
      const taken = whyTaken(manifest.name, { wanted: undefined, origin: 'imported', existing })
      if (taken !== undefined) return refused([taken])
      const published = await catalog.publish({
        userId,
        manifest,
        files: completeFiles(reading.files, { manifest, firstAt: existing?.createdAt }),
        origin: 'imported',
        buildId: null,
        state: 'disabled',
        problem: `It was imported and is off until you approve what it may do. ${describePermissions(manifest).join(' ')}`,
      })
      return { ok: true, ...published, examples: [] }
    },

    /** The whole gate for what was imported, which serves from then on. */
    async approve(userId: string, name: string, options: GateJob): Promise<Registration> {
      const version = await needVersion(userId, name)
      const reading = await catalog.read(version)
      if (!reading.ok) return refused([reading.problem])
      const verdict = await gate.check(reading.files, { userId, ...options })
      if (!verdict.ok) return verdict
      // Exactly the checked files become active.
      if (catalog.find(userId, name)?.version !== version.version) {
        return refused([`${name} got another version meanwhile. Look at what that one may do, and try again.`])
      }
      const capability = await catalog.setEnabled(userId, name, true)
      return { ok: true, capability, version: version.version, examples: verdict.examples }
    },

    async exportTo(userId: string, name: string, directory: string) {
      const version = await needVersion(userId, name)
      const reading = await catalog.read(version)
      if (!reading.ok) throw new FamiliarError('conflict', reading.problem)
      return await exportFolder(directory, version, reading.files)
    },
  }
}

function refused(problems: string[]): Registration {
  return { ok: false, problems, examples: [] }
}
