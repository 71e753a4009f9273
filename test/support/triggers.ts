import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createIds } from '../../src/base/ids.ts'
import { type Logger, silentLogger } from '../../src/base/logger.ts'
import type { ToolRun } from '../../src/custom-tools/execute.ts'
import { createToolTriggers, listTriggerRuns, type ToolTriggers } from '../../src/daemon/scheduler/tool-triggers.ts'
import type { RunTool, TriggeredTool, TriggerMessage } from '../../src/daemon/scheduler/trigger-runs.ts'
import type { ToolDetails } from '../../src/protocol/tools.ts'
import { createRedactor } from '../../src/security/redactor.ts'
import { createVault } from '../../src/security/vault.ts'
import type { Database } from '../../src/storage/database.ts'
import { createManualClock, type ManualClock } from './manual-clock.ts'
import { openTestDatabase } from './open-test-database.ts'

type RunRequest = Parameters<RunTool>[0]

/** Triggers over a real database file, with a tool that is a function and a list in place of the conversations. */
export interface TriggerScene {
  clock: ManualClock
  database: Database
  /** Changed in place; `triggers.refresh()` tells of it. */
  tools: TriggeredTool[]
  triggers: ToolTriggers
  /** Names of tools that are still made ready. */
  building: Set<string>
  /** The arguments of the tools' calls. */
  calls: RunRequest[]
  messages: TriggerMessage[]
  warnings: string[]
  /** `2026-11-15T09:30 done`, newest first, late ones with their delay in minutes. */
  runs(tool?: string): Promise<string[]>
  /** Others may see a write before its writer continues. */
  isWriting(): boolean
  /** As after the end of the process and a new start, `laterMs` later. Whatever ran is left as it was. */
  restart(laterMs: number): Promise<void>
  close(): Promise<void>
}

/** A tool of which nothing is known yet. */
export const unknownTool: ToolDetails = {
  name: '',
  description: '',
  version: null,
  category: null,
  icon: null,
  kind: 'contract',
  trigger: 'webhook',
  status: 'system',
  problem: null,
  directory: null,
  parameters: {},
  configuration: [],
  network: { mode: 'none', declared: [], allowed: [] },
  limits: null,
  refusedHosts: [],
  readsArgument: false,
  notes: [],
}

export function ranWith(more: Partial<ToolRun> = {}): ToolRun {
  return {
    ok: true,
    text: null,
    html: null,
    title: null,
    error: null,
    budgetRemaining: null,
    card: null,
    notes: [],
    durationMs: 1,
    driver: null,
    log: '',
    outcome: 'succeeded',
    ...more,
  }
}

export function cronTool(name: string, schedule: string, more: Partial<TriggeredTool> = {}): TriggeredTool {
  const prompt = `What ${name} found:`
  return { name, trigger: { kind: 'cron', schedule }, prompt, notifiesByDefault: true, ...more }
}

export async function openTriggers(options: {
  tools: TriggeredTool[]
  run?: (request: RunRequest) => Promise<ToolRun>
  timeZone?: string
  start?: number
  submit?: (message: TriggerMessage) => Promise<unknown>
}): Promise<TriggerScene> {
  const home = mkdtempSync(join(tmpdir(), 'familiar-triggers-'))
  const clock = createManualClock(options.start)
  const opened = await openTestDatabase({ directory: home, clock })
  let writing = 0
  const database: Database = {
    ...opened,
    async write(unit, options) {
      writing += 1
      try {
        return await opened.write(unit, options)
      } finally {
        writing -= 1
      }
    },
  }
  const owner = { id: 'owner', name: 'Anna', role: 'owner', created_at: clock.now() } as const
  await database.write((writer) => writer.insertInto('users').values(owner).execute())
  const tools = [...options.tools]
  const calls: RunRequest[] = []
  const messages: TriggerMessage[] = []
  const warnings: string[] = []
  const logger: Logger = {
    ...silentLogger,
    warn: (message, fields) => void warnings.push(`${message} ${JSON.stringify(fields)}`),
    error: (message, fields) => void warnings.push(`${message} ${JSON.stringify(fields)}`),
  }

  let cancelTimers: (() => void)[] = []
  const open = () =>
    createToolTriggers({
      tools: () => tools,
      async run(request) {
        calls.push(request)
        return (await options.run?.(request)) ?? ranWith({ text: 'found' })
      },
      show: async (_user, name) =>
        scene.building.has(name) ? { ...unknownTool, name, status: 'building' } : undefined,
      conversations: {
        findSession: async () => undefined,
        submit: async (message) => {
          await options.submit?.(message)
          messages.push(message)
        },
      },
      vault: createVault({ database, clock, keyFile: join(home, 'key'), redactor: createRedactor() }),
      database,
      clock: {
        now: clock.now,
        after(delayMs, task) {
          const cancel = clock.after(delayMs, task)
          cancelTimers.push(cancel)
          return cancel
        },
      },
      ids: createIds(clock),
      timeZone: options.timeZone ?? 'UTC',
      ownerId: 'owner',
      logger,
    })

  const scene: TriggerScene = {
    clock,
    database,
    tools,
    triggers: open(),
    building: new Set(),
    calls,
    messages,
    warnings,
    async runs(tool) {
      const listed = await listTriggerRuns(database.read, { tool, limit: 100 })
      return listed.map(({ dueAt, state, startedAt, isLate }) => {
        const delayMs = (startedAt ?? dueAt) - dueAt
        return `${new Date(dueAt).toISOString().slice(0, 16)} ${state}${isLate ? ` late by ${Math.round(delayMs / 60_000)}` : ''}`
      })
    },
    isWriting: () => writing > 0,
    async restart(laterMs) {
      // A process that is gone has no timers; its runs are never heard of again.
      for (const cancel of cancelTimers) cancel()
      cancelTimers = []
      clock.setTime(clock.now() + laterMs)
      scene.triggers = open()
      await scene.triggers.start()
    },
    async close() {
      await scene.triggers.close()
      await database.close()
      await rm(home, { recursive: true, force: true })
    },
  }
  return scene
}
