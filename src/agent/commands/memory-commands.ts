import { sha256 } from '../../base/hash.ts'
import type { Memory, MemoryKind } from '../../memory/memory.ts'
import { citeMemory, formatDate, readMemoryId } from '../../tools/builtin/memory-text.ts'
import { renderMemories, showMemories } from '../../tools/builtin/render-memories.ts'
import { always, type Command, type CommandAnswer, type CommandCall, done, misused, never, refused } from './command.ts'
import type { CommandServices } from './command-services.ts'
import { quoted } from './command-text.ts'

const mostRecalled = 5
const mostOffered = 5
const longestShown = 1_000
/** What can be forgotten by itself. Passages go with what they are of. */
const forgettable: readonly MemoryKind[] = ['note', 'fact', 'episode', 'commitment']

/** What is known, and what is no longer to be. */
export function createMemoryCommands({ memory, timeZone }: Pick<CommandServices, 'memory' | 'timeZone'>): Command[] {
  const { memories, recall, corrections } = memory

  const remember: Command = {
    name: 'remember',
    usage: '/remember TEXT',
    summary: 'keep a note, word for word',
    changesForGood: false,
    agentMay: true,
    acts: always,
    async run({ userId, sessionId, argument, by, trust }) {
      if (argument === '') return misused('What is to be remembered?', remember)
      const { memory: note, isNew } = await memories.add({
        userId,
        kind: 'note',
        content: argument,
        source: by,
        ...(trust === 'untrusted' && { label: trust }),
        ...(sessionId !== null && { sessionId }),
      })
      const known = `Known since ${formatDate(note.createdAt, timeZone)}`
      return tell(`${isNew ? 'Noted' : known} ${citeMemory(note.id)}`, [note])
    },
  }

  const ask: Command = {
    name: 'recall',
    usage: '/recall QUESTION',
    summary: 'what is remembered about something',
    changesForGood: false,
    agentMay: true,
    acts: never,
    async run(call) {
      const { userId, argument } = call
      if (argument === '') return misused('What is the question?', ask)
      const found = await search(call, mostRecalled)
      if (found.length === 0) return done('Nothing is remembered about that.')
      const ids = found.map(({ id }) => id)
      await memories.used(userId, ids)
      const shown = await showMemories(memory, userId, found)
      return tell(renderMemories(shown, argument, timeZone), found)
    },
  }

  const forget: Command = {
    name: 'forget',
    usage: '/forget WHAT',
    summary: 'forget a memory, named by its id, its title or its words',
    changesForGood: true,
    agentMay: true,
    acts: never,
    async run(call) {
      const { userId, argument } = call
      if (argument === '') return misused('What is to be forgotten?', forget)
      const known = await memories.get(userId, readMemoryId(argument))
      const found = known ? [known] : await search(call, mostOffered + 1, forgettable)
      const titled = found.filter(({ title }) => title === argument)
      const [wanted, ...others] = titled.length === 1 ? titled : found
      if (!wanted) return refused(`Nothing that is remembered fits ${quoted(argument)}.`)
      if (others.length > 0) return tellSeveral(found)
      const told = `${citeMemory(wanted.id)} of ${formatDate(wanted.createdAt, timeZone)}: ${whole(wanted.content)}`
      return {
        question: `Forget ${told}? It can be brought back for 30 days.`,
        label: wanted.label === 'untrusted' ? wanted.label : undefined,
        async carryOut() {
          // The user has said yes to just this one: it is their word, whoever brought it up.
          const outcome = await corrections.forget(userId, wanted.id, 'user')
          if (!outcome.ok) return refused(`${citeMemory(wanted.id)} is not there any more.`)
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
      .slice(0, mostOffered)
      .map(({ id, content, createdAt }) => `${citeMemory(id)} ${formatDate(createdAt, timeZone)} ${quoted(content)}`)
    const more = found.length > mostOffered ? ['… and more.'] : []
    const text = ['Several fit. Name one by its id, as in /forget ID:', ...lines, ...more].join('\n')
    return { ...tell(text, found), ok: false }
  }
}

/** What is too long to be shown is marked, so that the question is about all of it. */
function whole(content: string): string {
  const shown = quoted(content, longestShown)
  return content.length > longestShown ? `${shown} [${sha256(content).slice(0, 12)}]` : shown
}

function tell(text: string, told: readonly Pick<Memory, 'label'>[]): CommandAnswer {
  const isUntrusted = told.some(({ label }) => label === 'untrusted')
  return done(text, { isPrivate: true, ...(isUntrusted && { label: 'untrusted' }) })
}
