import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAskModel } from '../../src/agent/call-model.ts'
import type { CommandRequest } from '../../src/agent/commands/command.ts'
import { createCommands } from '../../src/agent/commands/create-commands.ts'
import { reportCost } from '../../src/agent/costs.ts'
import { createLedger } from '../../src/agent/ledger.ts'
import { createSessions } from '../../src/agent/sessions/sessions.ts'
import { createIds } from '../../src/base/ids.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { createCapabilityCatalog } from '../../src/custom-tools/built-catalog.ts'
import { createCapabilitySearch } from '../../src/custom-tools/search.ts'
import { createSkills } from '../../src/custom-tools/skills.ts'
import { createVersionStore } from '../../src/custom-tools/versions.ts'
import { createSchedules } from '../../src/daemon/scheduler/create-schedules.ts'
import type { LanguageModel, Models } from '../../src/models/model.ts'
import { createSandbox } from '../../src/sandbox/sandbox.ts'
import { openAssets } from '../../src/tools/files/open-assets.ts'
import { capabilityManifest } from './capabilities.ts'
import { createManualClock } from './manual-clock.ts'
import { openScriptedFamiliar } from './scripted-familiar.ts'
import { createUnsandboxedDriver } from './unsandboxed-driver.ts'
import { fileless, noPackages } from './workbench.ts'

/** The other user of `openCommands`: everything here belongs to the first. */
export const stranger = 'user-2'

/** All commands over the real services of a whole Familiar, with a clock that stands still. */
export async function openCommands(options: { model: LanguageModel; fast?: LanguageModel }) {
  const clock = createManualClock()
  const ids = createIds(clock)
  const { model, fast } = options
  const familiar = await openScriptedFamiliar({ model: { primary: [model], compaction: [model] }, clock })
  const { database, userId, conversations } = familiar
  const home = realpathSync(familiar.home)
  await database.write(async (writer) => {
    const row = { id: stranger, name: 'Eve', role: 'user', created_at: clock.now() } as const
    await writer.insertInto('users').values(row).execute()
  })
  const workspace = join(home, 'workspace')
  mkdirSync(join(workspace, 'skills', 'baking'), { recursive: true })
  writeFileSync(
    join(workspace, 'skills', 'baking', 'SKILL.md'),
    '---\nname: baking\ndescription: How bread is baked.\n---\nWait for the dough.\n',
  )
  const opened = openAssets({
    database,
    clock,
    budget: () => 100_000,
    boundsOf: () => ({ roots: [{ path: workspace, trust: 'owner' }], closed: [] }),
  })
  await opened.pinned.start()
  const sandbox = createSandbox(async () => [createUnsandboxedDriver()])
  const skills = createSkills({
    directory: join(workspace, 'skills'),
    directories: () => [],
    cacheDirectory: join(home, 'cache'),
    isEnabled: () => true,
    sandbox,
    workbench: fileless({ sandbox, clock }),
    packagesOf: noPackages,
    ownerId: userId,
    database,
    clock,
    logger: silentLogger,
  })
  await skills.reload()
  const versions = createVersionStore({ directory: join(home, 'capabilities') })
  const catalog = createCapabilityCatalog({ database, versions, clock, ids, logger: silentLogger })
  await catalog.start()
  await catalog.publish({
    userId,
    manifest: capabilityManifest({ name: 'weather_lookup', description: 'The weather of a place.' }),
    files: new Map([['main.py', Buffer.from('def run(args): return "sun"')]]),
    origin: 'built',
    buildId: null,
    state: 'active',
  })
  const models: Models = {
    route: (purpose) => (purpose === 'fast' ? (fast ? [fast] : []) : [model]),
    byId: (id) => [model, fast].find((one) => one?.info.id === id),
    list: () => [model, ...(fast ? [fast] : [])],
  }
  const ledger = createLedger({
    database,
    clock,
    ids,
    limits: () => ({ perMessageNanousd: 1e12, perBuildNanousd: 1e12, perDayNanousd: 1e12, perMonthNanousd: null }),
  })
  const schedules = createSchedules({
    conversations,
    database,
    readHeartbeat: async () => undefined,
    clock,
    ids,
    logger: silentLogger,
    timeZone: 'UTC',
  })
  const commands = createCommands({
    conversations,
    memory: familiar.memory,
    ...opened,
    skills,
    tools: familiar.tools,
    capabilities: { catalog, search: createCapabilitySearch({ catalog, database, logger: silentLogger }) },
    schedules,
    costReport: (user, period) => reportCost(database, { userId: user, period, now: clock.now() }),
    modelsOf: () => models,
    chooseModel: createSessions({ database, clock, ids: createIds(clock) }).chooseModel,
    permissions: familiar.permissions,
    askModel: createAskModel({ database, ledger, modelsOf: () => models, clock, random: () => 0.5 }),
    redact: (text) => text.replaceAll('a-known-secret', '[REDACTED]'),
    timeZone: 'UTC',
  })
  let sessionId: string | null = null

  return {
    ...familiar,
    ...opened,
    commands,
    schedules,
    clock,
    /** In the session that `talk` has started. */
    run: (line: string, more: Partial<CommandRequest> = {}) =>
      commands.run({ userId, sessionId, line, by: 'user', signal: new AbortController().signal, ...more }),
    /** Writes a block as the user would. */
    block: (label: string, content: string, trust: 'owner' | 'untrusted' = 'owner') =>
      opened.assets.write(
        { userId, author: 'user', agent: 'main', trust },
        { path: `familiar:///blocks/${label}`, content },
      ),
    async talk(text: string) {
      const end = await familiar.say(text)
      sessionId = end.sessionId
      return end
    },
    sessionId: () => sessionId,
    async close() {
      await schedules.close()
      await skills.close()
      await familiar.close()
    },
  }
}

export type OpenCommands = Awaited<ReturnType<typeof openCommands>>
