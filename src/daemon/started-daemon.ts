import type { Conversations } from '../agent/conversations.ts'
import type { OnStep } from '../agent/step.ts'
import type { Clock } from '../base/clock.ts'
import type { OnOutboxStep } from '../channels/outbox/outbox-step.ts'
import type { OnTelegramStep } from '../channels/telegram/telegram-step.ts'
import type { Database } from '../storage/database.ts'
import type { DaemonRole } from '../storage/fleet.ts'
import type { OnBuildStep } from '../tools/capabilities/builds/build-step.ts'
import type { Tool } from '../tools/tool.ts'
import type { ConfigProblem } from './config/config-problem.ts'
import type { HomePaths } from './home-paths.ts'

export interface StartOptions {
  home: string
  env: Readonly<Record<string, string | undefined>>
  /** Over what the config says. */
  port?: number
  host?: string
  /** Lines for a person, beside the log file. */
  writeLine?: (line: string) => void
  /** Takes up the turns and messages that an earlier run left; not for a command that only looks. True by default. */
  recover?: boolean
  /** Makes the owner's token at the first start, to be shown once; not for a command that shows none. True by default. */
  makeToken?: boolean
  /** Where several daemons share one database; `all` by default. */
  role?: DaemonRole
  clock?: Clock
  extraTools?: readonly Tool[]
  onStep?: OnStep
  onBuildStep?: OnBuildStep
  onTelegramStep?: OnTelegramStep
  onOutboxStep?: OnOutboxStep
}

export interface Daemon {
  url: string
  /** An address that signs the owner's browser in, once; null where the page was not built. */
  signInLink(): Promise<string | null>
  paths: HomePaths
  database: Database
  conversations: Conversations
  ownerId: string
  /** Who answers now. */
  model(): string
  /** Made at the first start, and readable only now. */
  newToken: string | undefined
  /** For this machine's own command line, as long as the daemon runs. */
  credential: string
  warnings: readonly string[]
  recovered: { resumedTurns: number; queuedMessages: number; uncleanStop: boolean }
  /** Resolves with the reason when the others take this daemon for dead: then it has to be closed, and may start anew. */
  lost: Promise<string>
  /** Reads the config again. A broken one changes nothing and is told. */
  reload(): Promise<ConfigProblem[]>
  /** Finishes the running step (cut off after `graceMs`) and lets go of everything. Safe to call twice. */
  close(graceMs?: number): Promise<void>
}
