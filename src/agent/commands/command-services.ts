import type { Assets } from '../../assets/assets.ts'
import type { PinnedBlocks } from '../../assets/blocks/pinned-blocks.ts'
import type { Pins } from '../../assets/blocks/pins.ts'
import type { OpenAssets } from '../../assets/open-assets.ts'
import type { CostPeriod, CostReport } from '../../cost/report.ts'
import type { FamiliarMemory } from '../../memory/familiar-memory.ts'
import type { AskModel } from '../../memory/learning/ask-model.ts'
import type { Models } from '../../models/models.ts'
import type { Capabilities } from '../../tools/capabilities/capabilities.ts'
import type { ToolRegistry } from '../../tools/registry.ts'
import type { Schedules } from '../../tools/schedules/schedules.ts'
import type { Skills } from '../../tools/skills/skills.ts'
import type { Conversations } from '../conversations.ts'

/** What commands need of everything else. Each of these takes the user and knows nothing of another one's (SEC-22). */
export interface CommandServices {
  conversations: Pick<
    Conversations,
    'sessions' | 'findSession' | 'history' | 'contextReport' | 'stop' | 'reset' | 'mark' | 'rewind' | 'fork' | 'compact'
  >
  memory: Pick<FamiliarMemory, 'memories' | 'recall' | 'corrections' | 'files'>
  assets: Pick<Assets, 'list' | 'load' | 'write'>
  pins: Pick<Pins, 'list' | 'pin' | 'unpin'>
  pinned: Pick<PinnedBlocks, 'refresh'>
  agentOf: OpenAssets['agentOf']
  skills: Pick<Skills, 'list' | 'reload'>
  tools: Pick<ToolRegistry, 'viewOf'>
  capabilities: { catalog: Pick<Capabilities['catalog'], 'list'>; search: Capabilities['search'] }
  schedules: Pick<Schedules, 'add' | 'list' | 'cancel'>
  costReport(userId: string, period: CostPeriod): Promise<CostReport>
  /** Those that the user has (CLIENT-4). */
  modelsOf(userId: string): Pick<Models, 'route' | 'byId' | 'list'>
  /** From the next turn of the session on; null gives the choice back to the routes. */
  chooseModel(userId: string, sessionId: string, model: string | null): Promise<unknown>
  /** The fast model; what it cannot do is done without it, or said. */
  askModel: AskModel
  /** Takes secrets out of what was typed before anything keeps it (SEC-13). */
  redact(text: string): string
  timeZone: string
}
