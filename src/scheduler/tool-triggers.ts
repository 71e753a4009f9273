import { randomBytes } from 'node:crypto'
import type { Ids } from '../base/ids.ts'
import type { HttpTriggers } from '../channels/http/http-dependencies.ts'
import { FamiliarError } from '../protocol/error.ts'
import type { Vault } from '../secrets/vault.ts'
import type { ToolCatalog } from '../tools/contract/tool-catalog.ts'
import { createCronRuns } from './cron-runs.ts'
import { listTriggerRuns } from './list-trigger-runs.ts'
import { createToolLanes } from './tool-lanes.ts'
import { createTriggerRunner, type RunToPerform, type TriggerNeeds } from './trigger-runner.ts'
import { createTriggerRuns } from './trigger-runs.ts'
import type { TriggeredTool } from './triggered-tool.ts'
import { createWebhooks } from './webhooks.ts'

const mostAtOnce = 4

/**
 * Runs tools without being asked: by their schedule and by webhook. Never two runs of one tool at once. A run is written
 * down before it begins; its output, where there is any to tell, becomes a message in the owner's main session. No model
 * is called otherwise, and where no tool has a schedule nothing happens at all.
 */
export interface ToolTriggers extends HttpTriggers {
  /** Closes what a crash left, takes up what waits, makes up for what was missed, and begins. */
  start(): Promise<void>
  /** When tools have come, gone or changed, and after the config was read again. Returns at once. */
  refresh(): void
  /** Begins nothing more, ends what runs, and waits for that. */
  close(): Promise<void>
}

export function createToolTriggers(
  needs: TriggerNeeds & {
    /** Those that are enabled and have a trigger; none while tools are switched off. */
    tools: () => readonly TriggeredTool[]
    show: ToolCatalog['show']
    /** Holds what callers of a tool's webhook sign with. */
    vault: Pick<Vault, 'get' | 'set'>
    ids: Ids
    /** Schedules are kept on the clock of this zone. */
    timeZone: string
  },
): ToolTriggers {
  const ending = new AbortController()
  let hasStarted = false
  const runs = createTriggerRuns(needs)
  const lanes = createToolLanes(mostAtOnce)
  const runner = createTriggerRunner({ ...needs, runs })
  const perform = (run: RunToPerform) => runner(run, ending.signal)
  const isComing = async (tool: string) => (await needs.show(needs.ownerId, tool))?.status === 'building'
  const cron = createCronRuns({ ...needs, isComing, runs, lanes, perform })
  const secretName = (tool: string) => ({ userId: needs.ownerId, owner: `tool:${tool}`, name: 'webhook' })
  const secretOf = (tool: string) => needs.vault.get(secretName(tool))
  const { takeUp, ...webhooks } = createWebhooks({
    ...needs,
    isComing,
    secretOf,
    runs,
    lanes,
    perform,
    signal: ending.signal,
  })

  return {
    webhooks,
    // They run for the owner, and are nobody else's.
    runs: async (userId, query) => (userId === needs.ownerId ? listTriggerRuns(needs.database.read, query) : []),
    async makeHookSecret(userId, tool) {
      // Also for one that is off at the moment: it takes no calls, and may have its secret before it does.
      const known = userId === needs.ownerId ? await needs.show(userId, tool) : undefined
      if (known?.trigger !== 'webhook') {
        throw new FamiliarError('not_found', `There is no tool ${tool} that is triggered by a webhook.`)
      }
      const secret = randomBytes(32).toString('base64url')
      await needs.vault.set(secretName(tool), secret)
      return secret
    },
    async start() {
      // Before anything of this run begins, or it would be taken for what a crash left.
      const interrupted = await runs.closeInterrupted()
      if (interrupted > 0)
        needs.logger.warn('runs of tools were interrupted when Familiar ended', { runs: interrupted })
      hasStarted = true
      await takeUp()
      await cron.look()
    },
    refresh() {
      if (!hasStarted) return
      void cron.look()
      takeUp().catch((cause: unknown) => needs.logger.error('webhooks that wait could not be read', { error: cause }))
    },
    async close() {
      await cron.close()
      ending.abort(new Error('Familiar is stopping'))
      await lanes.idle()
    },
  }
}
