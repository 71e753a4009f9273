import type { TurnEnd } from '../agent/conversations.ts'
import type { News, Role, RoleOf } from '../agent/role.ts'
import type { Context } from '../context/context.ts'
import type { SystemBlock } from '../models/model.ts'
import type { Session } from '../sessions/sessions.ts'
import { builderChannel } from '../sessions/work-channels.ts'
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

export interface Roles {
  roleOf: RoleOf
  onTurnEnded(session: Session, end: TurnEnd): void
  /** Finds nothing before they are there. */
  searchCapabilities: CapabilitySearch['search']
  use(capabilities: CapabilityRoles): void
}

/** Who answers where: the one that speaks with the user, and those that work in the background. */
export function createRoles(dependencies: { tools: ToolRegistry; context: Context; maxRounds: () => number }): Roles {
  const { tools, context, maxRounds } = dependencies
  let capabilities: CapabilityRoles | undefined

  function speaker(userId: string): Role {
    return {
      tools: tools.viewOf(userId),
      system(tier) {
        const text = capabilities?.lines(userId)
        const blocks = context.system(tier)
        return text ? [...blocks, { name: 'capabilities', tier: 'semi_stable', text }] : blocks
      },
      holdsPrivate: context.holdsPrivate,
      purpose: 'primary',
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
      if (session.channel !== builderChannel) return speaker(session.userId)
      if (!capabilities) throw new Error('A build is resumed before the Builder is there')
      return builder(capabilities)
    },
    onTurnEnded(session, end) {
      if (session.channel === builderChannel) capabilities?.onBuilderEnded(session, end)
    },
    searchCapabilities: async (query) => (await capabilities?.search(query)) ?? [],
    use(given) {
      capabilities = given
    },
  }
}
