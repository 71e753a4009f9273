import { z } from 'zod'
import { parseAnyJson } from '../../../base/json.ts'
import type { Logger } from '../../../base/logger.ts'
import { defineTool, failed, succeeded } from '../../define-tool.ts'
import type { Tool, ToolOutcome } from '../../tool.ts'
import type { Build } from '../builds/builds.ts'
import { type CapabilityFiles, toolNameOf } from '../capability.ts'
import type { CapabilityGate, Registration } from '../gate/gate.ts'
import { readText } from '../versions/capability-files.ts'
import { type BuilderNeeds, reportReach, runningBuildOf } from './builder-needs.ts'
import { readDraft } from './draft.ts'
import type { HostPermission } from './host-permission.ts'

/** The end of a build that went well: its version and its end are written in one unit, so it registers once. */
export function createRegisterCapability(
  needs: BuilderNeeds & { gate: Pick<CapabilityGate, 'register'>; permission: HostPermission; logger: Logger },
): Tool {
  const { desk, files: buildFiles, gate, permission, logger } = needs
  return defineTool({
    name: 'register_capability',
    description: 'Check all files and run every example in a fresh sandbox; where all is well, the build is done.',
    input: z.object({
      description: z.string().trim().min(1).max(1_000).optional(),
      tags: z.array(z.string().trim().min(1).max(40)).max(20).optional(),
    }),
    effect: 'idempotent',
    serial: true,
    core: true,
    async run(changes, context) {
      const { userId, sessionId, callId, seen, signal } = context
      const known = await desk.buildOf(sessionId)
      // After a crash the call is made again, and may have done its work before.
      if (known?.state === 'complete') return done(known)
      const build = await runningBuildOf(desk, context)
      const files = withManifest(build, await buildFiles.read(build.id), changes)
      const { manifest } = readDraft(build, files)
      const refusal = await permission({ build, manifest, seen, signal })
      if (refusal !== undefined) return failed(refusal)
      if (manifest.hosts.length > 0) await reportReach(desk, build, manifest.hosts)
      const { failure } = build.request
      const registration = await gate.register(files, {
        userId,
        origin: 'built',
        name: build.name,
        buildId: build.id,
        ...(failure && { mustTry: failure.input }),
        also: (writer, { version }) => desk.completeIn(writer, build, version),
        onProgress(message) {
          desk.report(build, { callId, message }).catch((cause) => {
            logger.warn('the progress of a build could not be written', { build: build.id, error: cause })
          })
        },
        signal,
      })
      if (registration.ok) {
        desk.completed(build)
        return done(build)
      }
      return { ...failed(problemsOf(registration)), ...(manifest.hosts.length > 0 && { label: 'untrusted' }) }
    },
  })
}

function done({ name }: Build): ToolOutcome {
  return succeeded(
    `${name} is registered and can be called as ${toolNameOf(name)}. You are done: say so in a sentence.`,
  )
}

function problemsOf({ problems, examples }: Extract<Registration, { ok: false }>): string {
  const failing = examples.flatMap(({ input, ok, detail }) =>
    ok ? [] : [`Example ${JSON.stringify(input)}: ${detail}`],
  )
  const lines = [...new Set([...problems, ...failing])].map((line) => `- ${line}`)
  return ['It was not registered:', ...lines, 'Mend this and register again.'].join('\n')
}

/** What the request says already need not be said again; what the Builder says with the call holds. */
function withManifest(
  { name, request }: Build,
  files: CapabilityFiles,
  changes: { description?: string | undefined; tags?: string[] | undefined },
): CapabilityFiles {
  const parsed = parseAnyJson(readText(files, 'manifest.json') ?? '{}')
  // The gate says what is wrong with it.
  if (!parsed.ok || parsed.value === null || typeof parsed.value !== 'object' || Array.isArray(parsed.value))
    return files
  const manifest = {
    name,
    description: request.description,
    ...(files.has('main.js') && !files.has('main.py') && { runtime: 'node' }),
    input_schema: request.inputSchema,
    ...parsed.value,
    ...(changes.description !== undefined && { description: changes.description }),
    ...(changes.tags && { tags: changes.tags }),
  }
  return new Map(files).set('manifest.json', Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`))
}
