import type { Clock } from '../../base/clock.ts'
import type { SandboxProxy } from '../../egress/sandbox-proxy.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import { keptKey } from './folder/kept-key.ts'
import type { FolderTools } from './folder-tools.ts'
import { callTool, refusal } from './run/call-tool.ts'
import type { OutputRedactor } from './run/read-output.ts'
import { completeTelemetry, type Telemetry } from './telemetry.ts'
import type { ToolCatalog, ToolRun } from './tool-catalog.ts'
import type { ToolSettings } from './tool-settings.ts'

type RunRequest = Parameters<ToolCatalog['run']>[0]

/** Runs tools of folders, and remembers what of them is in use and where they were not let through. */
export interface FolderToolRuns {
  /** Whatever stands against it is in the run; a `not_found` where there is no such folder. */
  run(request: RunRequest): Promise<ToolRun>
  /** Newest last. */
  refusedHosts(name: string): readonly string[]
  /** Whether a call is under way with this copy of a folder. */
  isInUse(key: string): boolean
}

const mostRefusedHosts = 20

export function createFolderToolRuns(dependencies: {
  folderTools: FolderTools
  settings: ToolSettings
  isEnabled(): boolean
  sandbox: Sandbox
  proxy: Pick<SandboxProxy, 'open'>
  redactor: OutputRedactor
  telemetry?: ((userId: string) => Promise<Partial<Telemetry>>) | undefined
  /** A copy of a folder is not in use any more. */
  onReleased(): void
  clock: Clock
}): FolderToolRuns {
  const { folderTools, settings, isEnabled, telemetry = async () => ({}), onReleased, clock } = dependencies
  const inUse = new Map<string, number>()
  const refused = new Map<string, Set<string>>()

  function noteRefused(name: string, host: string): void {
    const hosts = refused.get(name) ?? new Set()
    refused.set(name, hosts)
    hosts.delete(host)
    hosts.add(host)
    for (const oldest of hosts) if (hosts.size > mostRefusedHosts) hosts.delete(oldest)
  }

  function use(key: string, change: 1 | -1): void {
    const count = (inUse.get(key) ?? 0) + change
    if (count > 0) inUse.set(key, count)
    else inUse.delete(key)
  }

  return {
    async run({ userId, name, params, caller, state, signal, ...request }) {
      if (!isEnabled()) return switchedOff
      const entry = folderTools.find(name)
      if (!entry) throw new FamiliarError('not_found', `There is no tool named ${name} in the folders of tools.`)
      if (entry.kind === 'wrong') return refusal(`${name} is broken. ${entry.problem}`, 'refused')
      const why = folderTools.whyOff(entry)
      if (why !== undefined) return refusal(`${name} is off. ${why}`, 'refused')
      const { tool, staged } = entry
      await unlessAborted(staged.checked(), signal)
      // Whoever stands at the terminal waits for a build; a turn or a schedule does not.
      if (caller === 'user') await unlessAborted(staged.settled(), signal)
      const stage = staged.stage()
      if (stage.kind === 'lacking') return refusal(`${name} cannot run here: it ${stage.problem}`, 'refused')
      if (stage.kind !== 'ready') return refusal(`${name} is still being built. Try again in a moment.`, 'refused')
      const { manifest, folder } = tool
      const { values, missing } = await settings.read({ userId, tool: name, fields: manifest.configuration })
      if (missing.length > 0) {
        return refusal(`${name} needs ${missing.join(', ')}: familiar tools config ${name}`, 'refused')
      }
      const known = { ...(await telemetry(userId)), ...request.telemetry }
      // It may have been a while since the first look.
      if (!isEnabled()) return switchedOff
      const key = keptKey(folder)
      use(key, 1)
      try {
        return await callTool(
          {
            manifest,
            command: stage.command,
            allowedHosts: folderTools.state(name)?.hosts ?? [],
            params,
            settings: values,
            telemetry: completeTelemetry(known, clock.now()),
            caller,
            state,
            onRefused: (host) => noteRefused(name, host),
            signal,
          },
          dependencies,
        )
      } finally {
        use(key, -1)
        if (!inUse.has(key)) onReleased()
      }
    },
    refusedHosts: (name) => [...(refused.get(name) ?? [])],
    isInUse: (key) => inUse.has(key),
  }
}

const switchedOff = refusal('Tools are switched off (tools.enabled in the configuration).', 'refused')

async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
