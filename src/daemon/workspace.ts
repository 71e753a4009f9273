import { join } from 'node:path'
import type { CommandServices } from '../agent/commands/command-services.ts'
import type { Commands } from '../agent/commands/commands.ts'
import { createCommands } from '../agent/commands/create-commands.ts'
import type { Conversations } from '../agent/conversations.ts'
import { createFinders, type Finders } from '../assets/finder/create-finders.ts'
import { type OpenAssets, openAssets } from '../assets/open-assets.ts'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import { createTextFileCache } from '../base/text-file.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { createSchedules } from '../scheduler/schedules/create-schedules.ts'
import type { MediaStore } from '../sessions/media-store.ts'
import type { Database } from '../storage/database.ts'
import { createAssetTools } from '../tools/assets/asset-tools.ts'
import { createSlashCommand } from '../tools/builtin/slash-command.ts'
import type { ToolRegistry } from '../tools/registry.ts'
import { createScheduleTools } from '../tools/schedules/schedule-tools.ts'
import type { Schedules } from '../tools/schedules/schedules.ts'
import { createSkills } from '../tools/skills/create-skills.ts'
import type { Skills } from '../tools/skills/skills.ts'
import type { Config } from './config/config.ts'
import { createExpandMessage } from './expand-message.ts'
import type { HomePaths } from './home-paths.ts'
import type { WorkspaceRoles } from './roles.ts'

export interface OpenWorkspace {
  assets: OpenAssets
  finders: Finders
  skills: Skills
  schedules: Schedules
  commands: Commands
  roles: WorkspaceRoles
  /** What the prompt holds of it. Before the conversations recover. */
  start(): Promise<void>
  /** What runs by itself. After the conversations recovered. */
  begin(): Promise<void>
  /** After the config was read again. */
  refresh(): Promise<void>
  /** After another daemon has written blocks or pins, or schedules. */
  readPins(): Promise<void>
  readSchedules(): Promise<void>
  /** Before the sandbox and the database. */
  close(): Promise<void>
}

/** What the user and the agent keep and plan together, wired: files and blocks, skills, schedules, commands. */
export function openWorkspace(
  dependencies: {
    config: () => Config
    paths: HomePaths
    registry: ToolRegistry
    conversations: Conversations
    sandbox: Sandbox
    database: Database
    media: MediaStore
    ownerId: string
    timeZone: string
    clock: Clock
    ids: Ids
    logger: Logger
  } & Pick<
    CommandServices,
    'memory' | 'capabilities' | 'costReport' | 'modelsOf' | 'chooseModel' | 'askModel' | 'redact'
  >,
): OpenWorkspace {
  const { config, paths, registry, database, ownerId, clock } = dependencies
  // The home itself is closed: keys and data lie there. Files are the owner's; others have blocks.
  const rootsOf = (userId: string) =>
    userId === ownerId
      ? [
          { path: paths.workspace, trust: 'owner' as const },
          ...config().assets.roots.map((path) => ({ path, trust: 'untrusted' as const })),
        ]
      : []
  const boundsOf = (userId: string) => ({ roots: rootsOf(userId), closed: [paths.root] })
  const opened = openAssets({
    database,
    clock,
    budget: () => config().assets.blockBudgetTokens,
    boundsOf,
    promptFiles: () => Object.values(config().agent.context.tiers).flat(),
    promptFolders: () => config().skills.directories,
  })
  const finders = createFinders({
    rootsOf: (userId) => rootsOf(userId).map(({ path }) => path),
    closed: [paths.root],
    labelsOf: (userId) => blockLabels(database, userId),
    clock,
  })
  const skills = createSkills({
    ...dependencies,
    directory: paths.skills,
    directories: () => config().skills.directories,
    cacheDirectory: paths.cache,
    isEnabled: () => config().tools.enabled,
  })
  const readTextFile = createTextFileCache(clock, 0)
  const schedules = createSchedules({
    ...dependencies,
    async readHeartbeat(userId) {
      const text = userId === ownerId ? readTextFile(join(paths.workspace, 'HEARTBEAT.md')) : undefined
      // The agent cannot write it (SEC-4).
      return text === undefined ? undefined : { text, label: 'owner' }
    },
  })
  const commands = createCommands({ ...dependencies, ...opened, skills, schedules, tools: registry })
  const tools = [
    ...createAssetTools(opened),
    ...createScheduleTools({ schedules }),
    ...skills.tools,
    createSlashCommand({ commands }),
  ]
  for (const tool of tools) registry.add(tool)

  return {
    assets: opened,
    finders,
    skills,
    schedules,
    commands,
    roles: {
      blocks({ userId, agent }) {
        // Skills are the owner's, as tools are.
        const lines = userId === ownerId ? skills.lines() : undefined
        return [
          ...(lines ? [{ name: 'skills', tier: 'semi_stable' as const, text: lines }] : []),
          ...(userId === ownerId ? skills.alwaysOn() : []),
          ...opened.pinned.of(userId, agent),
        ]
      },
      seen: ({ userId, agent }) => opened.pinned.seen(userId, agent),
      expand: createExpandMessage({ ...opened, boundsOf, media: dependencies.media }),
      onForked: ({ userId }) => opened.pinned.refresh(userId),
    },
    async start() {
      await Promise.all([opened.pinned.start(), skills.reload()])
    },
    begin: () => schedules.start(),
    refresh: () => skills.reload(),
    readPins: opened.pinned.start,
    readSchedules: schedules.look,
    async close() {
      await schedules.close()
      await Promise.all([skills.close(), finders.close()])
    },
  }
}

async function blockLabels(database: Database, userId: string): Promise<string[]> {
  const rows = await database.read
    .selectFrom('blocks')
    .select('label')
    .where('user_id', '=', userId)
    .where('is_deleted', '=', 0)
    .execute()
  return rows.map(({ label }) => label)
}
