import type { CapabilitySearch } from '../custom-tools/search.ts'
import type { LanguageModel, Models, Purpose, SystemBlock } from '../models/model.ts'
import { builderChannel, subagentChannel, type ToolDefinition } from '../protocol/messages.ts'
import type { Writer } from '../storage/database.ts'
import type { ToolRegistry, ToolView } from '../tools/registry.ts'
import { type Context, withoutPrivateFiles } from './context.ts'
import type { TurnEnd } from './conversations.ts'
import type { Session } from './sessions/sessions.ts'
import type { SubagentWork } from './subagents.ts'
import type { ExpandMessage, ReadAttachments } from './turn.ts'

/** The agent of a session: its instructions, its tools and its limits. One loop runs every role (LOOP-1). */
export interface Role {
  tools: ToolView
  /** The blocks of a prompt profile, stable ones first. The same input always gives the same bytes. */
  system(profile: string): SystemBlock[]
  /** Whether they hold what the user wrote of themself. */
  holdsPrivate(profile: string): boolean
  /** Its parent had untrusted content in sight when it gave the task (SEC-17). */
  holdsUntrusted?: true
  /** The route of models that it takes, and what its calls are filed under. */
  purpose: Purpose
  /** In place of the route, where it is configured. */
  model?: string
  /** The turn that pays for its calls, if not its own: the budget of a message includes everything that it caused. */
  countsTo?: string
  /** Of a sub-agent: the conversation in which its user is asked, and whose permissions it has. */
  parentSessionId?: string
  maxRounds: number
  /** Whether it knows the user: memories are recalled before a turn and learned after it. */
  remembers: boolean
  /** News that the session has not heard yet. `onTold` is called in the unit that starts the turn. */
  news(session: Session): Promise<News | undefined>
}

interface News {
  lines: string[]
  /** True if the news may contain untrusted text: that marks the session permanently. */
  isUntrusted: boolean
  onTold(writer: Writer): Promise<void>
}

export type RoleOf = (session: Session) => Role

/** The roles of built tools: their builder, and the notes about them for the main agent. */
export interface CapabilityRoles {
  builder: { tools: ToolView; system: readonly SystemBlock[]; maxRounds(): number }
  /** The block of the prompt that names them; undefined if there are none. */
  lines(userId: string): string | undefined
  search: CapabilitySearch['search']
  news(session: Session): Promise<News | undefined>
  onBuilderEnded(session: Session, end: TurnEnd): void
}

export interface WorkspaceRoles {
  /** Skills and pinned blocks, at hand without waiting. */
  blocks(session: Session): SystemBlock[]
  seen(session: Session): { untrusted: boolean; private: boolean }
  /** Puts in what a message of the user names. */
  expand: ExpandMessage
  readAttachments: ReadAttachments
  /** A fork has pins of its own from now on. */
  onForked(session: Session): Promise<void>
}

export type Roles = ReturnType<typeof createRoles>

/** The roles of sessions: the main agent and those that work in the background. */
export function createRoles(dependencies: {
  tools: ToolRegistry
  context: Context
  maxRounds: () => number
  subagents: Pick<SubagentWork, 'roleOf'>
  isOwner(userId: string): boolean
}) {
  const { tools, context, maxRounds, subagents, isOwner } = dependencies
  let capabilities: CapabilityRoles | undefined
  let workspace: WorkspaceRoles | undefined

  function speaker(session: Session): Role {
    const { userId } = session
    const seen = workspace?.seen(session)
    return {
      tools: tools.viewOf(userId),
      system(profile) {
        const text = capabilities?.lines(userId)
        const built: SystemBlock[] = text ? [{ name: 'capabilities', layer: 'semi_stable', text }] : []
        const blocks = context.system(profile)
        const own = isOwner(userId) ? blocks : withoutPrivateFiles(blocks)
        return [...own, ...(workspace?.blocks(session) ?? []), ...built]
      },
      holdsPrivate: (profile) => seen?.private || (isOwner(userId) && context.holdsPrivate(profile)),
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
    roleOf(session: Session): Role {
      if (session.channel === subagentChannel) return subagents.roleOf(session)
      if (session.channel !== builderChannel) return speaker(session)
      if (!capabilities) throw new Error('A build was resumed before the Builder was registered')
      return builder(capabilities)
    },
    onTurnEnded(session: Session, end: TurnEnd) {
      if (session.channel === builderChannel) capabilities?.onBuilderEnded(session, end)
    },
    /** Finds nothing before they are there. */
    searchCapabilities: (async (query) =>
      (await capabilities?.search(query)) ?? []) satisfies CapabilitySearch['search'],
    onForked: async (session: Session) => workspace?.onForked(session),
    expand: (async (message) =>
      workspace?.expand(message) ?? { text: message.text, notes: [], media: [], included: [] }) satisfies ExpandMessage,
    readAttachments: (async (message) =>
      workspace?.readAttachments(message) ?? [...message.media]) satisfies ReadAttachments,
    use(given: CapabilityRoles) {
      capabilities = given
    },
    useWorkspace(given: WorkspaceRoles) {
      workspace = given
    },
  }
}

/** The model that a turn asks and its fallbacks: those of the role, unless there is a picture that they would not see. */
export function chooseModels(
  models: Models,
  { purpose, model }: Pick<Role, 'purpose' | 'model'>,
  turn: { source: string; messages: readonly { media: readonly { mediaType: string }[] }[] },
): readonly LanguageModel[] {
  const { source, messages } = turn
  const chosen = model === undefined ? undefined : models.byId(model)
  const usual = chosen ? [chosen] : models.route(purpose, source)
  const hasImage = messages.some(({ media }) => media.some(({ mediaType }) => mediaType.startsWith('image/')))
  if (!hasImage || usual[0]?.info.supportsVision) return usual
  const vision = models.route('vision', source)
  return vision[0]?.info.supportsVision ? vision : usual
}

/**
 * The tools whose schema a request carries: the core ones by name, then those found in the session in the order of
 * finding, so that finding one only ever adds at the end.
 */
export function offeredTools(registry: ToolView, found: readonly string[]): ToolDefinition[] {
  const core = registry.list().filter((tool) => tool.core)
  const more = found.flatMap((name) => {
    const tool = registry.find(name)
    return tool && !tool.core ? [tool] : []
  })
  return [...core, ...more].map((tool) => tool.definition)
}
