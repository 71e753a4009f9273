import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { InboundMessage, TurnEnd } from '../../src/agent/conversations.ts'
import type { OnStep } from '../../src/agent/next-step.ts'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { createIds } from '../../src/base/ids.ts'
import { silentLogger } from '../../src/base/logger.ts'
import type { MonitorState } from '../../src/base/telemetry/monitor.ts'
import type { Telemetry } from '../../src/base/telemetry/telemetry.ts'
import type { Config } from '../../src/daemon/config/config.ts'
import { loadConfig } from '../../src/daemon/config/load-config.ts'
import { type Core, createCore } from '../../src/daemon/core.ts'
import { homePaths } from '../../src/daemon/home-paths.ts'
import type { LanguageModel, Purpose } from '../../src/models/model.ts'
import { createRedactor } from '../../src/security/redactor.ts'
import { createAccessTokens } from '../../src/security/tokens.ts'
import { createUsers, type Users } from '../../src/security/users.ts'
import { type Database, watchWrites } from '../../src/storage/database.ts'
import { createToolAudit, type ToolAudit } from '../../src/tools/registry.ts'
import type { Tool, ToolOutcome } from '../../src/tools/tool.ts'
import { openTestDatabase } from './open-test-database.ts'

export interface ScriptedFamiliar extends Core {
  home: string
  database: Database
  onWrite(listener: () => void): () => void
  /** Read at every use: what is changed in it holds at once. */
  config: Config
  audit: ToolAudit
  users: Users
  userId: string
  published: MonitorState[]
  /** Sends a message and waits for the end of its turn. */
  say(text: string, inbound?: Partial<InboundMessage>): Promise<TurnEnd & { messageId: string }>
  inbound(text: string, more?: Partial<InboundMessage>): InboundMessage
  /** Closes the database; with `keep` the home stays for the next one. */
  close(options?: { keep?: boolean }): Promise<void>
}

/** The key that seals its approvals. */
export const approvalKey = new Uint8Array(32).fill(7)

/** The whole of Familiar but for the ways in: a real database in a home of its own, and the given model. */
export async function openScriptedFamiliar(options: {
  model: LanguageModel | Partial<Record<Purpose, LanguageModel[]>>
  home?: string
  clock?: Clock
  toml?: string
  tools?: Tool[]
  telemetry?: Telemetry
  onStep?: OnStep
}): Promise<ScriptedFamiliar> {
  const home = options.home ?? mkdtempSync(join(tmpdir(), 'familiar-'))
  mkdirSync(join(home, 'workspace'), { recursive: true })
  mkdirSync(join(home, 'media'), { recursive: true })
  if (options.toml) writeFileSync(join(home, 'familiar.toml'), options.toml)
  const loaded = loadConfig({ home, env: { FAMILIAR_EMBEDDING: 'off', FAMILIAR_SANDBOX: 'off' } })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const clock = options.clock ?? systemClock()
  const ids = createIds(clock)
  const { database, onWrite } = watchWrites(await openTestDatabase({ directory: home, clock }))
  const userId = 'user-1'
  await database.write(async (writer) => {
    const row = { id: userId, name: 'Anna', role: 'owner', created_at: clock.now() } as const
    await writer
      .insertInto('users')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  })
  const routes = 'stream' in options.model ? { primary: [options.model] } : options.model
  const published: MonitorState[] = []
  const audit = createToolAudit({ database, clock, ids, redact: (text) => text })
  const tokens = createAccessTokens({ database, clock, ids })
  const plans = () => loaded.config.plans
  const users = createUsers({ database, tokens, clock, ids, plans, addSecret: () => undefined })
  await users.refresh()
  const core = createCore({
    users,
    database,
    models: {
      // A script is for its own calls: background learning does not use it unless the test says so.
      route: (purpose) => routes[purpose] ?? (purpose === 'fast' ? [] : (routes.primary ?? [])),
      byId: (id) =>
        Object.values(routes)
          .flat()
          .find((model) => model?.info.id === id),
      list: () => Object.values(routes).flat(),
    },
    config: () => loaded.config,
    atStart: loaded.config,
    paths: homePaths(home),
    publishMonitor: async (state) => void published.push(structuredClone(state)),
    clock,
    ids,
    random: () => 0.5,
    logger: silentLogger,
    timeZone: 'UTC',
    extraTools: options.tools ?? [],
    audit,
    redactor: createRedactor(),
    approvalKey: () => approvalKey,
    ...(options.telemetry && { telemetry: options.telemetry }),
    ...(options.onStep && { onStep: options.onStep }),
  })
  const inbound = (text: string, more: Partial<InboundMessage> = {}): InboundMessage => ({
    userId,
    channel: 'cli',
    contact: 'main',
    sender: 'anna',
    source: 'cli',
    text,
    media: [],
    immediate: true,
    metadata: {},
    ...more,
  })
  return {
    ...core,
    home,
    database,
    onWrite,
    config: loaded.config,
    audit,
    users,
    userId,
    published,
    inbound,
    async say(text, more) {
      const { messageId } = await core.conversations.submit(inbound(text, more))
      return { ...(await core.conversations.waitForTurn(messageId)), messageId }
    },
    async close({ keep = false } = {}) {
      await core.conversations.close(0)
      await core.stop()
      await database.close()
      if (!keep) await rm(home, { recursive: true, force: true })
    },
  }
}

/** A tool made of a function. */
export function toolOf(name: string, run: Tool['run'], more: Partial<Omit<Tool, 'definition' | 'run'>> = {}): Tool {
  return {
    definition: { name, description: `Does ${name}.`, inputSchema: { type: 'object', properties: {} } },
    effect: 'idempotent',
    serial: false,
    core: true,
    aliases: [],
    reach: () => ({ kind: 'read', destination: null }),
    run,
    ...more,
  }
}

export function said(text: string): ToolOutcome {
  return { text, isError: false }
}
