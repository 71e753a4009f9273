import { z } from 'zod'
import { isRecord, parseAnyJson } from '../../base/json.ts'
import type { Logger } from '../../base/logger.ts'
import { toStorableText } from '../../base/text.ts'
import { askInputSchema } from '../../protocol/choices.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { PolicyMode } from '../../protocol/permissions.ts'
import { judgeCall } from '../../security/permissions.ts'
import type { Database } from '../../storage/database.ts'
import { saidByUser } from '../../tools/builtin/memory-forget.ts'
import { defineTool, failed, succeeded, type Tool, type ToolContext, type ToolOutcome } from '../../tools/tool.ts'
import { toolNameOf } from '../built-catalog.ts'
import { endOf } from '../custom-tool.ts'
import type { CapabilityExecutor } from '../execute.ts'
import { type CapabilityManifest, readBuiltManifest as readManifest } from '../manifest.ts'
import { createStagedFiles } from '../stored-files.ts'
import { type CapabilityFiles, readRequirements, readTextFile } from '../tool-folder.ts'
import type { Build } from './builds.ts'
import { type BuilderDesk, type Builds, createBuildFiles, type OnBuildStep } from './create-builds.ts'
import type { CapabilityGate, Registration } from './gate.ts'

const maxCharacters = 6_000
const network = z.boolean().default(false).describe('Reach the hosts of manifest.json')

/** The seven tools of the Builder (CAP-3). All of them can be called again after a crash, and none asks the loop's gate. */
export function createBuilderTools(dependencies: {
  builds: BuilderDesk
  gate: Pick<CapabilityGate, 'register'>
  executor: Pick<CapabilityExecutor, 'tryOut'>
  database: Database
  /** Drafts lie there while they are tried; nothing else may. */
  directory: string
  policy(): { mode: PolicyMode; destinations: readonly string[] }
  logger: Logger
  onStep?: OnBuildStep
}): Tool[] {
  const { builds: desk, gate, executor, database, directory, policy, logger } = dependencies
  const { onStep = () => {} } = dependencies
  const files = createBuildFiles({ database, onStep })
  const inFolder = createStagedFiles({ directory })

  /** A tool whose work gets the build that the call belongs to. One that has ended takes nothing any more. */
  function builderTool<Input extends z.ZodObject>(tool: {
    name: string
    description: string
    input: Input
    serial?: boolean
    /** In place of the work, after a crash in which the call had done it. */
    whenComplete?(build: Build): ToolOutcome
    work(input: z.output<Input>, build: Build, context: ToolContext): Promise<ToolOutcome>
  }): Tool {
    const { whenComplete, work, ...definition } = tool
    return defineTool({
      ...definition,
      effect: 'idempotent',
      core: true,
      async run(input, context) {
        const build = await desk.buildOf(context.sessionId)
        if (!build) throw new FamiliarError('not_found', 'No build belongs to the session')
        if (build.state === 'complete' && whenComplete) return whenComplete(build)
        if (build.state !== 'running') throw new FamiliarError('conflict', 'This build has ended. Stop here.')
        return await work(input, build, context)
      },
    })
  }

  /**
   * Why the build may not reach one of the hosts; undefined where it may. The policy of SEC-6 for code of a model: untrusted
   * text may have chosen the host, and the code could send private text or a secret there. Then the user is asked, once for
   * each host of a build. The gate of the loop cannot ask here, because its question would end the turn and the build.
   * Allowed hosts are shown to the user once.
   */
  async function refuseHosts(
    build: Build,
    manifest: Pick<CapabilityManifest, 'hosts'>,
    { seen, signal }: Pick<ToolContext, 'seen' | 'signal'>,
  ): Promise<string | undefined> {
    const { hosts } = manifest
    const inSight = { untrusted: build.request.seen.untrusted || seen.untrusted }
    for (const host of hosts) {
      const reach = { kind: 'reach', destination: `https://${host}` } as const
      const { allowed } = judgeCall({ ...policy(), seen: inSight, reach, isKnown: () => false })
      if (allowed) continue
      const question = `Let the new tool ${build.name} contact ${host}? Text from outside was read while it was built.`
      if (await desk.allowsHost({ build, host, question, seen, signal })) continue
      return `The user did not allow this build to reach ${host}, so nothing was run. Go on without it, or stop and say so.`
    }
    if (hosts.length === 0) return undefined
    // Text from there is untrusted.
    const fromHosts = { untrusted: true, private: false }
    await desk.report(build, { callId: 'reach', message: `Reaching ${hosts.join(', ')}.`, seen: fromHosts })
    return undefined
  }

  async function tryOut(
    build: Build,
    context: ToolContext,
    attempt: { command: Parameters<CapabilityExecutor['tryOut']>[0]['command']; isOnline: boolean },
  ): Promise<ToolOutcome> {
    const { userId, signal } = context
    const { command, isOnline } = attempt
    const draft = readDraft(build, await files.read(build.id))
    const manifest = isOnline ? draft.manifest : { ...draft.manifest, hosts: [] }
    const refusal = await refuseHosts(build, manifest, context)
    if (refusal !== undefined) return failed(refusal)
    onStep('trying_out')
    const run = await inFolder(draft.files, (directory) => {
      const runnable = { name: build.name, manifest, directory, requirements: draft.requirements }
      return executor.tryOut({ userId, runnable, command, signal })
    })
    // Not its output, which may contain untrusted text.
    await desk.report(build, { callId: context.callId, message: run.ok ? 'A try worked.' : 'A try failed.' })
    const notes = [
      draft.problem && `${draft.problem} So it ran without network, secrets and storage.`,
      run.error,
      cutMiddle(run.text),
    ]
    return {
      text: notes.filter(Boolean).join('\n'),
      ...endOf(run),
      ...(manifest.hosts.length > 0 && { label: 'untrusted' }),
    }
  }

  return [
    builderTool({
      name: 'write_file',
      description: 'Write a file of the capability, whole, in place of what was there.',
      input: z.object({ path: z.string().min(1), content: z.string() }),
      serial: true,
      async work({ path, content }, build, { callId }) {
        const text = toStorableText(content)
        await files.write({ buildId: build.id, path, content: text })
        const message = `${path} is written, ${Buffer.byteLength(text)} bytes.`
        await desk.report(build, { callId, message })
        return succeeded(message)
      },
    }),
    builderTool({
      name: 'run_code',
      description: 'Run code in the language of the capability, beside its files, in a fresh sandbox.',
      input: z.object({ code: z.string().min(1), network }),
      serial: true,
      work: ({ code, network: isOnline }, build, context) => tryOut(build, context, { command: { code }, isOnline }),
    }),
    builderTool({
      name: 'run_command',
      description: 'Run a line of sh in /capability, in a fresh sandbox.',
      input: z.object({ command: z.string().min(1), network }),
      serial: true,
      work: ({ command, network: isOnline }, build, context) =>
        tryOut(build, context, { command: { shell: command }, isOnline }),
    }),
    // Unlike the tool of the same name in a conversation, it waits for the answer, and the turn continues.
    builderTool({
      name: 'ask_user',
      description: 'Ask the user and wait up to a minute for the answer. Never for a secret.',
      input: askInputSchema,
      async work({ question, ...offer }, build, { callId, seen, signal }) {
        const answer = await desk.ask({ build, callId, question, offer, seen, signal })
        if (!answer) return succeeded('No answer came within a minute. Decide yourself and continue, or stop.')
        return {
          ...succeeded(`The user answers: ${answer.text}`),
          // An answer that came through a conversation inherits what the conversation had read.
          ...(answer.seen?.untrusted && { label: 'untrusted' }),
          ...(answer.seen?.private && { isPrivate: true }),
        }
      },
    }),
    // The value goes from the user's form into the vault; neither the Builder nor any model sees it (CAP-7).
    builderTool({
      name: 'request_secret',
      description: 'Ask the user to enter a secret that manifest.json declares. The result says whether it is set.',
      input: z.object({
        name: z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/),
        description: z.string().trim().min(1).max(500).describe('Its purpose and where the user gets it'),
      }),
      async work({ name, description }, build, { callId, seen, signal }) {
        const isSet = await desk.requestSecret({ build, callId, secret: name, description, seen, signal })
        return succeeded(isSet ? `${name} is set.` : `${name} is not set: the user did not enter it within a minute.`)
      },
    }),
    builderTool({
      name: 'report_progress',
      description: 'Tell the user how it is getting on, in a few words.',
      input: z.object({ message: z.string().trim().min(1) }),
      async work({ message }, build, { callId }) {
        await desk.report(build, { callId, message })
        return succeeded('Told.')
      },
    }),
    // The end of a build that went well: its version and its end are written in one unit, so it registers once.
    builderTool({
      name: 'register_capability',
      description: 'Check all files and run every example in a fresh sandbox; where all is well, the build is done.',
      input: z.object({
        description: z.string().trim().min(1).max(1_000).optional(),
        tags: z.array(z.string().trim().min(1).max(40)).max(20).optional(),
      }),
      serial: true,
      whenComplete: done,
      async work(changes, build, context) {
        const { userId, callId, signal } = context
        const written = withManifest(build, await files.read(build.id), changes)
        const { manifest } = readDraft(build, written)
        const refusal = await refuseHosts(build, manifest, context)
        if (refusal !== undefined) return failed(refusal)
        const { failure } = build.request
        const registration = await gate.register(written, {
          userId,
          origin: 'built',
          name: build.name,
          buildId: build.id,
          ...(failure && { mustTry: failure.input }),
          also: (writer, { version }) => desk.completeIn(writer, build, version),
          onProgress(message) {
            desk.report(build, { callId, message }).catch((cause: unknown) => {
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
    }),
  ]
}

/** Hands on what the user says to the question of a Builder, in whatever conversation they say it (CAP-7). */
export function createAnswerBuild({ builds }: { builds: Pick<Builds, 'answer'> }): Tool {
  return defineTool({
    name: 'answer_build',
    description: "Hand the user's answer on to the Builder that asked. Never a secret.",
    input: z.object({ question_id: z.string().min(1).max(300), answer: z.string().trim().min(1).max(10_000) }),
    effect: 'idempotent',
    // The build inherits the label of the answer, so it asks before it reaches a host with it.
    reach: ({ question_id }) => ({ kind: 'change', destination: `build:${question_id.split('.')[0]}` }),
    async run({ question_id, answer }, { userId, userText, seen }) {
      const isTheirs = saidByUser(answer, userText)
      await builds.answer(userId, question_id, answer, isTheirs ? { untrusted: false, private: false } : seen)
      return succeeded('The Builder has the answer.')
    },
  })
}

/** Without a manifest that can be read it has no network, no secrets and no storage; `problem` says why. */
function readDraft(build: Build, files: CapabilityFiles) {
  const requirements = readRequirements(readTextFile(files, 'requirements.txt') ?? '')
  const written = readTextFile(files, 'manifest.json')
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
  return ['It was not registered:', ...lines, 'Fix this and register again.'].join('\n')
}

/** Values of the request are the default; values of the call override them. */
function withManifest(
  { name, request }: Build,
  files: CapabilityFiles,
  changes: { description?: string | undefined; tags?: string[] | undefined },
): CapabilityFiles {
  const parsed = parseAnyJson(readTextFile(files, 'manifest.json') ?? '{}')
  // The gate says what is wrong with it.
  if (!parsed.ok || !isRecord(parsed.value)) return files
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

/** How it began and how it ended tell the most. */
function cutMiddle(text: string): string {
  if (text.length <= maxCharacters) return text
  const head = text.slice(0, maxCharacters / 3).toWellFormed()
  const tail = text.slice(-(maxCharacters * 2) / 3).toWellFormed()
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`
}
