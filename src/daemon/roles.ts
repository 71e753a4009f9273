import type { TurnEnd } from '../agent/conversations.ts'
import type { ExpandMessage } from '../agent/expand-message.ts'
import type { News, Role, RoleOf } from '../agent/role.ts'
import type { SubagentWork } from '../agent/subagents/create-subagents.ts'
import { type Context, withoutPrivateFiles } from '../context/context.ts'
import type { SystemBlock } from '../models/model.ts'
import type { Session } from '../sessions/sessions.ts'
import { builderChannel, subagentChannel } from '../sessions/work-channels.ts'
import type { CapabilitySearch } from '../tools/capabilities/catalog/search.ts'
import type { ToolRegistry, ToolView } from '../tools/registry.ts'

/** What the capabilities bring: a worker of their own, and what the one that speaks should know of them. */
export interface CapabilityRoles {
  builder: { tools: ToolView; system: readonly SystemBlock[]; maxRounds(): number }
  /** The block of the prompt that names them; undefined where there is none. */
  lines(userId: string): string | undefined
  search: CapabilitySearch['search']
  news(session: Session): Promise<News | undefined>
  /** A turn of the Builder has ended. Returns at once. */
  onBuilderEnded(session: Session, end: TurnEnd): void
}

/** What the user and the agent keep together, as far as it stands in the prompt. */
export interface WorkspaceRoles {
  /** Skills and pinned blocks, at hand without waiting. */
  blocks(session: Session): SystemBlock[]
  /** What a session has in sight by them. */
  seen(session: Session): { untrusted: boolean; private: boolean }
  /** Puts in what a message of the user names. */
  expand: ExpandMessage
  /** A fork has pins of its own from now on. */
  onForked(session: Session): Promise<void>
}

export interface Roles {
  roleOf: RoleOf
  onTurnEnded(session: Session, end: TurnEnd): void
  /** Finds nothing before they are there. */
  searchCapabilities: CapabilitySearch['search']
  onForked(session: Session): Promise<void>
  expand: ExpandMessage
  use(capabilities: CapabilityRoles): void
  useWorkspace(workspace: WorkspaceRoles): void
}

/** Who answers where: the one that speaks with the user, and those that work in the background. */
export function createRoles(dependencies: {
  tools: ToolRegistry
  context: Context
  maxRounds: () => number
  subagents: Pick<SubagentWork, 'roleOf'>
  isOwner(userId: string): boolean
}): Roles {
  const { tools, context, maxRounds, subagents, isOwner } = dependencies
  let capabilities: CapabilityRoles | undefined
  let workspace: WorkspaceRoles | undefined

  function speaker(session: Session): Role {
    const { userId } = session
    const seen = workspace?.seen(session)
    return {
      tools: tools.viewOf(userId),
      system(tier) {
        const text = capabilities?.lines(userId)
        const built: SystemBlock[] = text ? [{ name: 'capabilities', tier: 'semi_stable', text }] : []
        const blocks = context.system(tier)
        const own = isOwner(userId) ? blocks : withoutPrivateFiles(blocks)
        return [...own, ...(workspace?.blocks(session) ?? []), ...built]
      },
      holdsPrivate: (tier) => seen?.private || (isOwner(userId) && context.holdsPrivate(tier)),
      ...(seen?.untrusted && { holdsUntrusted: true as const }),
      purpose: 'primary',
      ...(session.model !== null && { model: session.model }),
      maxRounds: maxRounds(),
      remembers: true,
      news: async (session) => capabilities?.news(session),
    }
  }

  function builder({ builder: { tools: own, system, maxRounds: most } }: CapabilityRoles): Role {
    return {
      tools: own,
      system: () => [...system],
      holdsPrivate: () => false,
      purpose: 'builder',
      maxRounds: most(),
      remembers: false,
      news: async () => undefined,
    }
  }

  return {
    roleOf(session) {
      if (session.channel === subagentChannel) return subagents.roleOf(session)
      if (session.channel !== builderChannel) return speaker(session)
      if (!capabilities) throw new Error('A build is resumed before the Builder is there')
      return builder(capabilities)
    },
    onTurnEnded(session, end) {
      if (session.channel === builderChannel) capabilities?.onBuilderEnded(session, end)
    },
    searchCapabilities: async (query) => (await capabilities?.search(query)) ?? [],
    onForked: async (session) => workspace?.onForked(session),
    async expand(message) {
      return workspace ? workspace.expand(message) : { text: message.text, notes: [], media: [], included: [] }
    },
    use(given) {
      capabilities = given
    },
    useWorkspace(given) {
      workspace = given
    },
  }
}
