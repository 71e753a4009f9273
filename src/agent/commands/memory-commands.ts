import { sha256 } from '../../base/ids.ts'
import { formatCount } from '../../base/text.ts'
import type { Memory, MemoryKind } from '../../memory/memory.ts'
import { citeMemory, formatDate, readMemoryId, renderMemories, showMemories } from '../../tools/builtin/memory-query.ts'
import type { AssetActor } from '../../tools/files/assets.ts'
import { namedBlockUri } from '../../tools/files/pins.ts'
import {
  asks,
  type Command,
  type CommandAnswer,
  type CommandCall,
  type CommandServices,
  changes,
  done,
  looks,
  misused,
  quoted,
  refused,
  tell,
} from './command.ts'

const maxRecalled = 5
const maxOffered = 5
const maxShownLength = 1_000
/** The kinds that can be forgotten one by one. Passages are deleted with their source. */
const forgettable: readonly MemoryKind[] = ['note', 'fact', 'episode', 'commitment']

export function createMemoryCommands({ memory, timeZone }: Pick<CommandServices, 'memory' | 'timeZone'>): Command[] {
  const { memories, recall, corrections } = memory

  const remember: Command = {
    name: 'remember',
    usage: '/remember TEXT',
    summary: 'save a note, word for word',
    ...changes,
    async run({ userId, sessionId, argument, by, trust }) {
      if (argument === '') return misused('Write the note after the command.', remember)
      const { memory: note, isNew } = await memories.add({
        userId,
        kind: 'note',
        content: argument,
        source: by,
        ...(trust === 'untrusted' && { label: trust }),
        ...(sessionId !== null && { sessionId }),
      })
      const known = `Known since ${formatDate(note.createdAt, timeZone)}`
      return tell(`${isNew ? 'Noted' : known} ${citeMemory(note.id)}`, isUntrusted([note]))
    },
  }

  const ask: Command = {
    name: 'recall',
    usage: '/recall QUESTION',
    summary: 'search memory',
    ...looks,
    async run(call) {
      const { userId, argument } = call
      if (argument === '') return misused('Write a question after the command.', ask)
      const found = await search(call, maxRecalled)
      if (found.length === 0) return done('I have no memory about that.')
      await memories.used(
        userId,
        found.map(({ id }) => id),
      )
      const shown = await showMemories(memory, userId, found)
      return tell(renderMemories(shown, argument, timeZone), isUntrusted(found))
    },
  }

  const forget: Command = {
    name: 'forget',
    usage: '/forget WHAT',
    summary: 'forget a memory by its id, title or words',
    ...asks,
    async run(call) {
      const { userId, argument } = call
      if (argument === '') return misused('Name the memory to forget.', forget)
      const known = await memories.get(userId, readMemoryId(argument))
      const found = known ? [known] : await search(call, maxOffered + 1, forgettable)
      const titled = found.filter(({ title }) => title === argument)
      const [wanted, ...others] = titled.length === 1 ? titled : found
      if (!wanted) return refused(`No memory matches ${quoted(argument)}.`)
      if (others.length > 0) return tellSeveral(found)
      const told = `${citeMemory(wanted.id)} of ${formatDate(wanted.createdAt, timeZone)}: ${whole(wanted.content)}`
      return {
        question: `Forget ${told}? You can undo this for 30 days.`,
        label: wanted.label === 'untrusted' ? wanted.label : undefined,
        async carryOut() {
          // The user confirmed this memory, so the deletion counts as theirs, even if the agent proposed it.
          const outcome = await corrections.forget(userId, wanted.id, 'user')
          if (!outcome.ok) return refused(`${citeMemory(wanted.id)} no longer exists.`)
          const also = outcome.alsoForgotten.length
          const repeating = also > 0 ? `, with ${also} that repeat it` : ''
          return done(`Forgot ${citeMemory(wanted.id)}${repeating}.`)
        },
      }
    },
  }
  return [remember, ask, forget]

  async function search(call: CommandCall, limit: number, kinds?: readonly MemoryKind[]): Promise<Memory[]> {
    const { userId, argument, signal } = call
    const found = await recall.recall({ userId, text: argument, limit, kinds, signal })
    return found.map((one) => one.memory)
  }

  function tellSeveral(found: readonly Memory[]): CommandAnswer {
    const lines = found
      .slice(0, maxOffered)
      .map(({ id, content, createdAt }) => `${citeMemory(id)} ${formatDate(createdAt, timeZone)} ${quoted(content)}`)
    const more = found.length > maxOffered ? ['… and more.'] : []
    const text = ['Several memories match. Choose one by its id: /forget ID', ...lines, ...more].join('\n')
    return { ...tell(text, isUntrusted(found)), ok: false }
  }
}

/** Long content is shortened with a mark, so that the question is clearly about all of it. */
function whole(content: string): string {
  const shown = quoted(content, maxShownLength)
  return content.length > maxShownLength ? `${shown} [${sha256(content).slice(0, 12)}]` : shown
}

function isUntrusted(memories: readonly Memory[]): boolean {
  return memories.some(({ label }) => label === 'untrusted')
}

/** The prefix of block addresses; the rest is the label. */
const blocks = 'familiar:///blocks/'

type Services = Pick<CommandServices, 'assets' | 'pins' | 'agentOf'>

/** Which blocks there are, and which of them the agent always has before it. */
export function createBlockCommands(services: Services): Command[] {
  const { assets, pins } = services

  const ownerOf = async (call: Pick<CommandCall, 'userId' | 'sessionId'>) => {
    return { userId: call.userId, agent: await agentIn(services, call) }
  }

  const pin: Command = {
    name: 'pin',
    usage: '/pin LABEL',
    summary: 'add a block to the prompt',
    ...changes,
    complete: ({ userId, sessionId }) => labelsOf(services, { userId, sessionId }),
    async run(call) {
      if (call.argument === '') return misused('Which block?', pin)
      const pinned = await pins.pin(await ownerOf(call), { path: call.argument })
      if (!pinned.ok) return { ...refused(pinned.message), ...(pinned.code === 'budget' && { isOverBudget: true }) }
      const { label, tokens, position } = pinned.pin
      return tell(`Pinned ${label} as number ${position}, ${formatCount(tokens)} tokens. ${usedBy(pinned)}`)
    },
  }

  const unpin: Command = {
    name: 'unpin',
    usage: '/unpin LABEL',
    summary: 'remove a block from the prompt; the block itself stays',
    ...changes,
    complete: async (call) => (await pins.list(await ownerOf(call))).pins.map(({ label }) => label),
    async run(call) {
      if (call.argument === '') return misused('Which block?', unpin)
      const unpinned = await pins.unpin(await ownerOf(call), { path: call.argument })
      if (!unpinned.ok) return refused(unpinned.message)
      return tell(`Unpinned ${unpinned.label}. ${usedBy(unpinned)}`)
    },
  }

  const pinned: Command = {
    name: 'pinned',
    usage: '/pinned',
    summary: 'list the blocks in the prompt, in order',
    ...looks,
    async run(call) {
      const list = await pins.list(await ownerOf(call))
      if (list.pins.length === 0) return done('Nothing is pinned.')
      const lines = list.pins.map(({ position, label, tokens, trust }) => {
        const mark = trust === 'untrusted' ? ', untrusted' : ''
        return `${position}. ${label} (${formatCount(tokens)} tokens${mark})`
      })
      return tell([...lines, `${formatCount(list.tokens)} of ${formatCount(list.budget)} tokens.`].join('\n'))
    },
  }

  const list: Command = {
    name: 'blocks',
    usage: '/blocks [FOLDER]',
    summary: 'list the blocks',
    ...looks,
    async run(call) {
      const actor = await actorOf(services, call)
      const found = await assets.list(actor, { prefix: namedBlockUri(call.argument) })
      if (!found.ok) return refused(found.message)
      if (found.entries.length === 0) return done('There are no blocks yet.')
      const isPinned = new Set((await pins.list(actor)).pins.map(({ label }) => label))
      const lines = found.entries.map(({ path, bytes }) => {
        const label = labelOf(path)
        return `${label} (${bytes.toLocaleString('en')} bytes${isPinned.has(label) ? ', pinned' : ''})`
      })
      return tell([...lines, ...(found.isCut ? ['… and more. Name a folder.'] : [])].join('\n'))
    },
  }
  return [pin, unpin, pinned, list]
}

function usedBy({ tokens, budget }: { tokens: number; budget: number }): string {
  return `${formatCount(tokens)} of ${formatCount(budget)} tokens are pinned.`
}

export async function actorOf(
  services: Pick<Services, 'agentOf'>,
  call: Pick<CommandCall, 'userId' | 'sessionId' | 'by' | 'trust'>,
): Promise<AssetActor> {
  const { userId, by, trust } = call
  return { userId, author: by, agent: await agentIn(services, call), trust }
}

/** Before the first message there is no session; only the main agent can answer. */
async function agentIn(
  { agentOf }: Pick<Services, 'agentOf'>,
  { userId, sessionId }: Pick<CommandCall, 'userId' | 'sessionId'>,
): Promise<string> {
  return sessionId === null ? 'main' : await agentOf(userId, sessionId)
}

export async function labelsOf(
  services: Pick<Services, 'assets' | 'agentOf'>,
  call: Pick<CommandCall, 'userId' | 'sessionId'>,
): Promise<string[]> {
  const actor = await actorOf(services, { ...call, by: 'user', trust: 'owner' })
  const found = await services.assets.list(actor, { prefix: blocks })
  return found.ok ? found.entries.map(({ path }) => labelOf(path)) : []
}

/** A command names a block by its label; its whole address is understood, too. Another scheme is for the store to refuse. */
export function blockPath(named: string): string {
  return /^(?!familiar:|ikigai:)[a-z]+:\/\//i.test(named) ? named : namedBlockUri(named)
}

function labelOf(path: string): string {
  return path.startsWith(blocks) ? path.slice(blocks.length) : path
}
