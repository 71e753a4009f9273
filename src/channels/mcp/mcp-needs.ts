import type { Conversations } from '../../agent/conversations.ts'
import type { OpenAssets } from '../../assets/open-assets.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { FamiliarMemory } from '../../memory/familiar-memory.ts'
import type { Redactor } from '../../secrets/redactor.ts'
import type { Capabilities } from '../../tools/capabilities/capabilities.ts'
import type { Skills } from '../../tools/skills/skills.ts'

/** All of Familiar that is shown to MCP clients. */
export interface McpNeeds {
  name: string
  version: string
  memory: FamiliarMemory
  conversations: Conversations
  /** Absent: there are no tools for them. */
  capabilities?: Pick<Capabilities, 'catalog' | 'search' | 'runs'> | undefined
  /** Absent: there are no prompts. */
  skills?: Pick<Skills, 'list' | 'show' | 'onChange'> | undefined
  /** Absent: no blocks are shown. */
  assets?: Pick<OpenAssets, 'assets'> | undefined
  /** Whether the user's tier has the tool, by the name that the agent knows it by. */
  allowsTool(userId: string, toolName: string): boolean
  /** Calls after whatever was written, until the returned function is called. */
  onWrite(listener: () => void): () => void
  redactor?: Pick<Redactor, 'redact'> | undefined
  clock: Clock
  /** Days are days there. */
  timeZone: string
  logger: Logger
}
