import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { readBundledText, toFileError } from '../base/files.ts'
import { FamiliarError } from '../protocol/errors.ts'
import { type CapabilityGate, type Registration, whyTaken } from './builder/gate.ts'
import { completeFiles, mainFiles, skillFile } from './builder/inspect-files.ts'
import type { CapabilityCatalog } from './built-catalog.ts'
import { describeIn, describePermissions } from './manifest.ts'
import { type CapabilityFiles, readCapabilityFolder } from './tool-folder.ts'
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

const skillTemplate = readBundledText(new URL('skill-template.md', import.meta.url))

// Secrets come from the environment there; what is kept between calls needs Familiar.
const runtimes = {
  python: {
    needs: 'Python 3.9 or newer',
    command: `python3 -c 'import inspect, json, os, sys, types, main
given = json.loads(sys.argv[1]), types.SimpleNamespace(secrets=os.environ)
print(main.run(*given[: len(inspect.signature(main.run).parameters)]))' '{…}'`,
  },
  node: {
    needs: 'Node.js 22.7 or newer',
    command: `node --input-type=module -e 'import * as main from "./main.js"
const run = main.run ?? main.default.run
console.log(await run(JSON.parse(process.argv[1]), { secrets: process.env }))' '{…}'`,
  },
} as const

/** The SKILL.md of a capability, for use without Familiar: its purpose, and how to run it. */
function skillText(
  { manifest, version }: CapabilityVersion,
  { hasRequirements }: { hasRequirements: boolean },
): string {
  const { name, runtime, secrets, storage, askedAs } = manifest
  // Agents choose a skill by its description alone, so it also says how people ask for it.
  const asked = askedAs.length > 0 ? ` For requests such as: ${askedAs.join(' / ')}` : ''
  const whole = `${manifest.description}${asked}`.replaceAll(/\s+/g, ' ')
  const named =
    secrets.length > 0 ? ` \`context.secrets\` holds ${secrets.map((secret) => secret.name).join(', ')}.` : ''
  const kept = storage ? ' `context.storage` has `get`, `set`, `delete` and `keys`.' : ''
  const { needs, command } = runtimes[runtime]
  return describeIn(skillTemplate, manifest, {
    skill: skillName(name),
    summary: JSON.stringify(whole.slice(0, maxDescriptionLength).toWellFormed()),
    needs,
    version: String(version),
    main: mainFiles[runtime],
    given: `${named}${kept}`,
    command: `${hasRequirements ? 'pip install -r requirements.txt\n' : ''}${command}`,
  })
}

/**
 * Writes a version as a folder that is also an Agent Skill. A skill's folder has its name: what is asked for under another
 * name becomes the folder around it. The skill's own must not be there yet, or be empty; nothing is ever written over.
 */
async function exportFolder(
  target: string,
  version: CapabilityVersion,
  content: CapabilityFiles,
): Promise<{ directory: string; files: string[] }> {
  const asked = resolve(target)
  const name = skillName(version.manifest.name)
  const directory = basename(asked) === name ? asked : join(asked, name)
  const files = new Map(content)
  files.delete(lockFile)
  const hasRequirements = files.has('requirements.txt')
  files.set(skillFile, Buffer.from(skillText(version, { hasRequirements })))
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
