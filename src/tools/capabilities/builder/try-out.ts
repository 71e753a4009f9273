import { z } from 'zod'
import { defineTool, failed } from '../../define-tool.ts'
import type { Tool, ToolContext, ToolOutcome } from '../../tool.ts'
import type { OnBuildStep } from '../builds/build-step.ts'
import type { CapabilityExecutor } from '../execute/executor.ts'
import { type BuilderNeeds, reportReach, runningBuildOf } from './builder-needs.ts'
import { readDraft } from './draft.ts'
import type { DraftFolders } from './draft-folders.ts'
import type { HostPermission } from './host-permission.ts'

const mostCharacters = 6_000
const network = z.boolean().default(false).describe('Reach the hosts of manifest.json')

export interface TryOutNeeds extends BuilderNeeds {
  executor: Pick<CapabilityExecutor, 'tryOut'>
  folders: DraftFolders
  permission: HostPermission
  onStep: OnBuildStep
}

export function createRunCode(needs: TryOutNeeds): Tool {
  return defineTool({
    name: 'run_code',
    description: 'Run code in the language of the capability, beside its files, in a fresh sandbox.',
    input: z.object({ code: z.string().min(1), network }),
    effect: 'idempotent',
    serial: true,
    core: true,
    run: ({ code, network: isOnline }, context) =>
      tryOut(needs, { context, command: { kind: 'code', code }, isOnline }),
  })
}

export function createRunCommand(needs: TryOutNeeds): Tool {
  return defineTool({
    name: 'run_command',
    description: 'Run a line of sh in /capability, in a fresh sandbox.',
    input: z.object({ command: z.string().min(1), network }),
    effect: 'idempotent',
    serial: true,
    core: true,
    run: ({ command, network: isOnline }, context) =>
      tryOut(needs, { context, command: { kind: 'shell', command }, isOnline }),
  })
}

async function tryOut(
  { desk, files, executor, folders, permission, onStep }: TryOutNeeds,
  attempt: {
    context: ToolContext
    command: Parameters<CapabilityExecutor['tryOut']>[0]['command']
    isOnline: boolean
  },
): Promise<ToolOutcome> {
  const { context, command, isOnline } = attempt
  const { userId, seen, signal } = context
  const build = await runningBuildOf(desk, context)
  const draft = readDraft(build, await files.read(build.id))
  const manifest = isOnline ? draft.manifest : { ...draft.manifest, hosts: [] }
  const refusal = await permission({ build, manifest, seen, signal })
  if (refusal !== undefined) return failed(refusal)
  if (manifest.hosts.length > 0) await reportReach(desk, build, manifest.hosts)
  onStep('trying_out')
  const run = await folders(draft.files, (directory) => {
    const runnable = { name: build.name, manifest, directory, requirements: draft.requirements }
    return executor.tryOut({ userId, runnable, command, signal })
  })
  // Not what it said: that may be the words of others.
  await desk.report(build, { callId: context.callId, message: run.ok ? 'A try worked.' : 'A try failed.' })
  const notes = [
    draft.problem && `${draft.problem} So it ran without network, secrets and storage.`,
    run.error,
    cutMiddle(run.text),
  ]
  return {
    text: notes.filter(Boolean).join('\n'),
    isError: !run.ok,
    ...(manifest.hosts.length > 0 && { label: 'untrusted' }),
    ...(run.outcome === 'timed_out' && { timedOut: true }),
    ...(run.outcome === 'service_failed' && { serviceFailed: true }),
    ran: { driver: run.driver, budgetRemaining: null },
  }
}

/** How it began and how it ended tell the most. */
function cutMiddle(text: string): string {
  if (text.length <= mostCharacters) return text
  const head = text.slice(0, mostCharacters / 3).toWellFormed()
  const tail = text.slice(-(mostCharacters * 2) / 3).toWellFormed()
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`
}
