import { readBundledText } from '../../base/files.ts'
import { plural, toStorableText, truncateText } from '../../base/text.ts'
import { errorStatus, FamiliarError } from '../../protocol/errors.ts'
import { confirmationOf } from '../../tools/builtin/message.ts'
import { describeSchedule, formatDue, type ScheduleTime } from '../../tools/builtin/schedule-tools.ts'
import { rankTools } from '../../tools/registry.ts'
import {
  type Command,
  type CommandAnswer,
  type CommandCall,
  type CommandOutcome,
  type CommandProposal,
  type CommandRequest,
  type CommandServices,
  type Completion,
  done,
  looks,
  misused,
  parseLine,
  quoted,
  readCount,
  readSessionLog,
  refused,
  type SaidLine,
  saidOf,
  sessionHere,
  sessionNamed,
  tell,
} from './command.ts'
import { createBlockCommands, createMemoryCommands } from './memory-commands.ts'
import { createPermissionCommands } from './permission-commands.ts'
import { createCompactCommand, createLookCommands, createSessionCommands } from './session-commands.ts'

const maxCandidates = 50
const maxLineLength = 20_000

export type Commands = ReturnType<typeof createCommands>

/** The one registry of commands (CMD-1). */
export function createCommands(services: CommandServices) {
  const all: Command[] = [
    ...createBlockCommands(services),
    createCompactCommand(services),
    ...createHistoryCommands(services),
    ...createLookCommands(services),
    ...createMemoryCommands(services),
    createModelCommand(services),
    ...createPermissionCommands(services),
    createScheduleCommand(services),
    ...createSessionCommands(services),
    ...createToolCommands(services),
  ]
  all.push(createHelpCommand(() => all))
  all.sort((one, other) => (one.name < other.name ? -1 : 1))
  const byName = new Map(all.map((command) => [command.name, command]))

  async function perform(request: CommandRequest): Promise<CommandOutcome> {
    const { by, userId, sessionId, confirm, signal } = request
    if (request.line.length > maxLineLength) return refused(`A command may have at most ${maxLineLength} characters.`)
    const parsed = parseLine(services.redact(toStorableText(request.line)))
    if (!parsed) return refused('A command starts with a slash and a name. /help lists the commands.')
    const command = byName.get(parsed.name)
    if (!command || (by === 'agent' && !command.agentMay)) return refused(unknown(parsed.name, by))
    const trust = request.trust ?? (by === 'user' ? 'owner' : 'internal')
    const call: CommandCall = { userId, sessionId, argument: parsed.argument, by, trust, confirm, signal }
    return settle(await command.run(call), confirm)
  }

  /** A proposal is carried out with the yes to it and to nothing else; otherwise it is what the user is asked. */
  async function settle(result: CommandAnswer | CommandProposal, confirm: string | undefined): Promise<CommandOutcome> {
    if (!('carryOut' in result)) return result
    const { question, label } = result
    const asked = confirmationOf(question)
    if (confirm === asked) return settle(await result.carryOut(), undefined)
    const shown = { text: question, confirm: asked }
    return { ok: true, text: question, question: shown, isPrivate: true, ...(label && { label }) }
  }

  function unknown(name: string, by: CommandRequest['by']): string {
    const known = byName.get(name)
    if (known && by === 'agent') return `Only the user can run /${known.name}.`
    const near = all.filter((command) => name !== '' && command.name.startsWith(name.slice(0, 3)))
    const hint = near.length > 0 ? ` Did you mean ${near.map((command) => `/${command.name}`).join(' or ')}?` : ''
    return `There is no /${name.slice(0, 40).toWellFormed()}.${hint} /help lists the commands.`
  }

  return {
    /** In order of name. */
    list: (): readonly Omit<Command, 'run' | 'complete' | 'acts'>[] =>
      all.map(({ name, usage, summary, changesForGood, agentMay }) => {
        return { name, usage, summary, changesForGood, agentMay }
      }),

    /**
     * Whether the line would change something without a confirmation, decided by the line alone; true for unknown
     * commands.
     */
    acts(line: string): boolean {
      const parsed = parseLine(line)
      const command = parsed && byName.get(parsed.name)
      return !command || command.acts(parsed.argument)
    },

    /** Completions: names first, then values for the name. Never fails; anything that cannot be read is left out. */
    async complete(typedBy: Pick<CommandRequest, 'userId' | 'sessionId' | 'line'>): Promise<Completion> {
      const { userId, sessionId, line } = typedBy
      const nothing = { start: line.length, candidates: [] }
      const parsed = line.length > maxLineLength ? undefined : parseLine(line)
      if (!parsed) return nothing
      const isNameWhole = /^\s*\/\S*\s/.test(line)
      if (!isNameWhole) {
        const named = all.filter(({ name }) => name.startsWith(parsed.name))
        const candidates = named.map(({ name, summary }) => ({ text: `/${name}`, summary }))
        return { start: line.indexOf('/'), candidates }
      }
      const command = byName.get(parsed.name)
      if (!command?.complete) return nothing
      const typed = line.slice(parsed.start).toLowerCase()
      const known = await command.complete({ userId, sessionId, argument: parsed.argument }).catch(() => [])
      const fitting = [...new Set(known)].filter((text) => text.toLowerCase().startsWith(typed))
      return { start: parsed.start, candidates: fitting.slice(0, maxCandidates).map((text) => ({ text })) }
    },

    /** Never throws because of the typed text: that is an outcome that is not ok. */
    async run(request: CommandRequest): Promise<CommandOutcome> {
      try {
        return await perform(request)
      } catch (cause) {
        if (cause instanceof FamiliarError && errorStatus[cause.code] < 500) return refused(cause.message)
        throw cause
      }
    },
  }
}

function createHelpCommand(all: () => readonly Command[]): Command {
  const help: Command = {
    name: 'help',
    usage: '/help [COMMAND]',
    summary: 'list the commands, or show how one is used',
    ...looks,
    complete: async () => all().map(({ name }) => name),
    async run({ argument, by }) {
      const offered = all().filter((command) => by === 'user' || command.agentMay)
      if (argument === '') {
        const width = Math.max(...offered.map(({ usage }) => usage.length))
        return done(offered.map(({ usage, summary }) => `${usage.padEnd(width)}  ${summary}`).join('\n'))
      }
      const wanted = argument.replace(/^\//, '').toLowerCase()
      const command = offered.find(({ name }) => name === wanted)
      if (!command) return misused(`There is no /${wanted.slice(0, 40).toWellFormed()}.`, help)
      const asks = command.changesForGood ? '\nIt asks before a permanent change.' : ''
      const { usage, summary } = command
      return done(`${usage}\n${summary.slice(0, 1).toUpperCase()}${summary.slice(1)}.${asks}`)
    },
  }
  return help
}

const summaryPrompt = readBundledText(new URL('../prompts/summary.md', import.meta.url))
const usualLines = 10
const maxLines = 200
const lineCharacters = 2_000
const maxSummarized = 400
const transcriptCharacters = 60_000

function createHistoryCommands(services: Pick<CommandServices, 'conversations' | 'askModel' | 'timeZone'>): Command[] {
  const { conversations, askModel, timeZone } = services

  const history: Command = {
    name: 'history',
    usage: '/history [N]',
    summary: `show the newest N messages of the session (${usualLines})`,
    ...looks,
    async run(call) {
      const count = call.argument === '' ? usualLines : readCount(call.argument)
      if (count === undefined || count > maxLines) return misused(`N is a number from 1 to ${maxLines}.`, history)
      const session = await sessionHere(conversations, call)
      const said = saidOf(await readSessionLog(conversations, session, (events) => saidOf(events).length >= count))
      const shown = said.slice(-count)
      if (shown.length === 0) return done('There are no messages here yet.')
      return tell(shown.map((line) => `${formatDue(line.at, timeZone)} ${spoken(line)}`).join('\n'), isUntrusted(shown))
    },
  }

  const summary: Command = {
    name: 'summary',
    usage: '/summary [SESSION]',
    summary: 'summarize a session',
    ...looks,
    complete: async ({ userId }) => (await conversations.sessions(userId)).map(({ contact }) => contact),
    async run(call) {
      const { userId, argument, signal } = call
      const session = await sessionNamed(conversations, call, argument)
      const events = await readSessionLog(conversations, session, (found) => saidOf(found).length >= maxSummarized)
      const said = saidOf(events).slice(-maxSummarized)
      if (said.length === 0) return done('There are no messages there yet.')
      const earlier = events.findLast((event) => event.type === 'compacted')
      const parts = [...(earlier ? [`Earlier: ${earlier.summary}`] : []), ...said.map(spoken)]
      const isForeign = isUntrusted(said) || earlier?.label === 'untrusted'
      const text = parts.join('\n\n').slice(-transcriptCharacters).toWellFormed()
      const asked = { userId, sessionId: session.id, purpose: 'summary', system: summaryPrompt, text, signal }
      const answer = await askModel(asked)
      if (answer.ok && answer.text.trim() !== '') return tell(answer.text.trim(), isForeign)
      if (!answer.ok && answer.reason === 'aborted') return refused('Stopped.')
      const why = answer.ok ? 'The model gave no summary' : answer.message
      return tell(`${why}. Without one, here is an outline:\n${outline(said, earlier?.summary)}`, isForeign)
    },
  }

  /** The last summary of the conversation itself, and its ends. */
  function outline(said: readonly SaidLine[], earlier: string | undefined): string {
    const first = said[0]
    const last = said.at(-1)
    const lines = earlier ? [earlier] : []
    if (first && last) {
      const times = `from ${formatDue(first.at, timeZone)} to ${formatDue(last.at, timeZone)}`
      lines.push(`${plural(said.length, 'message')} ${times}.`)
      lines.push(`First ${quoted(first.text, 300)}`, `Last ${quoted(last.text, 300)}`)
    }
    return lines.join('\n')
  }
  return [history, summary]
}

function isUntrusted(lines: readonly SaidLine[]): boolean {
  return lines.some((line) => line.isUntrusted)
}

function spoken({ who, text }: SaidLine): string {
  return `${who === 'user' ? 'You' : 'Familiar'}: ${truncateText(text.trim(), lineCharacters)}`
}

/** Back to what the configuration says. */
const byRoute = 'default'

function createModelCommand(services: Pick<CommandServices, 'conversations' | 'modelsOf' | 'chooseModel'>): Command {
  const { conversations, modelsOf, chooseModel } = services

  const model: Command = {
    name: 'model',
    usage: `/model [ID | ${byRoute}]`,
    summary: 'show or change the model of this conversation',
    changesForGood: false,
    agentMay: false,
    acts: (argument) => argument !== '',
    complete: async ({ userId }) => [
      ...modelsOf(userId)
        .list()
        .map(({ info }) => info.id),
      byRoute,
    ],
    async run(call) {
      const { userId, argument } = call
      if (argument === '') return describe(call)
      const isDefault = argument === byRoute
      if (!isDefault && !modelsOf(userId).byId(argument))
        return misused(`There is no model ${JSON.stringify(argument)}.`, model)
      const session = await sessionHere(conversations, call)
      await chooseModel(userId, session.id, isDefault ? null : argument)
      return done(isDefault ? 'The configuration chooses the model again.' : `This conversation now uses ${argument}.`)
    },
  }
  return model

  async function describe({ userId, sessionId }: { userId: string; sessionId: string | null }) {
    const session = sessionId === null ? undefined : await conversations.findSession(userId, sessionId)
    const models = modelsOf(userId)
    const chosen = session?.model
    const [first, ...fallbacks] = models.route('primary', session?.channel).map(({ info }) => info.id)
    const current = chosen ?? first ?? 'none'
    const others = models.list().flatMap(({ info }) => (info.id === current ? [] : [info.id]))
    return done(
      [
        `${current} answers here${chosen ? ', as you chose' : ''}.`,
        ...(fallbacks.length > 0 ? [`Fallback: ${fallbacks.join(', ')}.`] : []),
        ...(others.length > 0 ? [`Also available: ${[...new Set(others)].join(', ')}.`] : []),
      ].join('\n'),
    )
  }
}

// A clock time has a colon, too; one with a space behind it ends the time.
const planned = /^(.+?):\s+(\S[\s\S]*)$/
const cancelling = /^cancel(?:\s+(\S+))?$/i
const cronLike = /^[\d*/,\- ]+$/

/** Messages that come later to the session that one is in. */
function createScheduleCommand(services: Pick<CommandServices, 'conversations' | 'schedules'>): Command {
  const { conversations, schedules } = services

  const schedule: Command = {
    name: 'schedule',
    usage: '/schedule [list | cancel ID | WHEN: MESSAGE]',
    summary: 'send a message later, as in: tomorrow at 9:00: water the plants',
    changesForGood: true,
    agentMay: true,
    acts: (argument) => !isList(argument) && !cancelling.test(argument),
    async complete({ userId }) {
      const known = await schedules.list(userId)
      return ['list', ...known.map(({ schedule: { id } }) => `cancel ${id}`)]
    },
    async run(call) {
      const { argument } = call
      if (isList(argument)) return list(call)
      const [isCancel, id] = cancelling.exec(argument) ?? []
      if (isCancel !== undefined)
        return id ? cancel(call, id) : misused('Name a schedule. /schedule lists them.', schedule)
      const [, when, message] = planned.exec(argument) ?? []
      if (when === undefined || message === undefined) {
        return misused('Write the time, a colon, and the message.', schedule)
      }
      return add(call, when.trim(), message.trim())
    },
  }
  return schedule

  async function list({ userId }: CommandCall): Promise<CommandAnswer> {
    const known = await schedules.list(userId)
    if (known.length === 0) return done('Nothing is scheduled.')
    const isForeign = known.some(({ schedule: { trust } }) => trust === 'untrusted')
    return tell(known.map(({ schedule: one, lastRun }) => describeSchedule(one, lastRun)).join('\n'), isForeign)
  }

  async function cancel({ userId }: CommandCall, id: string) {
    const known = (await schedules.list(userId)).find((one) => one.schedule.id === id)
    if (!known) return refused(`There is no upcoming schedule with the id ${quoted(id)}.`)
    return {
      question: `Cancel ${describeSchedule(known.schedule)}?`,
      label: known.schedule.trust === 'untrusted' ? known.schedule.trust : undefined,
      async carryOut() {
        await schedules.cancel(userId, id)
        return done('Cancelled.')
      },
    }
  }

  async function add(call: CommandCall, when: string, message: string): Promise<CommandAnswer> {
    const { userId, by: author, trust } = call
    const { id: session } = await sessionHere(conversations, call)
    const made = await schedules.add({ userId, time: timeOf(when), message, session, author, trust })
    return tell(`Scheduled: ${describeSchedule(made)}`)
  }
}

function isList(argument: string): boolean {
  return argument === '' || argument.toLowerCase() === 'list'
}

/** Digits, stars and commas alone are fields of cron; a date has them too, and no star or space. */
function timeOf(when: string): ScheduleTime {
  const isCron = cronLike.test(when) && (when.includes('*') || when.split(' ').length === 5)
  return isCron ? { cron: when } : { at: when }
}

const maxShown = 40
const maxFound = 10
const nothingKnown = new Map<string, number>()

function createToolCommands(services: Pick<CommandServices, 'tools' | 'capabilities' | 'skills'>): Command[] {
  const { tools, capabilities } = services
  const toolsOf = (userId: string) => tools.viewOf(userId).list()

  const list: Command = {
    name: 'tools',
    usage: '/tools [QUERY]',
    summary: 'list or search the tools',
    ...looks,
    complete: async ({ userId }) => toolsOf(userId).map(({ definition }) => definition.name),
    async run({ userId, argument }) {
      const all = toolsOf(userId).map(({ definition }) => definition)
      if (argument === '') return describe(all, 'There are no tools.')
      const ranked = rankTools(toolsOf(userId), argument, { experience: nothingKnown, closeness: nothingKnown })
      const found = ranked.slice(0, maxFound).map(({ definition }) => definition)
      return describe(found, `No tool matches ${quoted(argument)}.`)
    },
  }

  const caps: Command = {
    name: 'caps',
    usage: '/caps [QUERY]',
    summary: 'list or search the built tools',
    ...looks,
    complete: async ({ userId }) => capabilities.catalog.list(userId).map(({ name }) => name),
    async run({ userId, argument, signal }) {
      const entry = ({ name, description, state }: { name: string; description: string; state: string }) => {
        return { name: state === 'active' ? name : `${name} [${state}]`, description }
      }
      if (argument === '') {
        return describe(capabilities.catalog.list(userId).map(entry), 'There are no capabilities yet.')
      }
      const found = await capabilities.search.search({ userId, text: argument, limit: maxFound, signal })
      const entries = found.map(({ capability }) => entry(capability))
      return describe(entries, `No capability matches ${quoted(argument)}.`)
    },
  }

  const skills: Command = {
    name: 'skills',
    usage: '/skills [NAME]',
    summary: 'list the skills',
    ...looks,
    complete: async () => services.skills.list().map(({ name }) => name),
    async run({ argument }) {
      const wanted = argument.toLowerCase()
      const found = services.skills.list().filter(({ name }) => name.toLowerCase().includes(wanted))
      const entries = found.map(({ name, description, status, problem }) => {
        return status === 'on' ? { name, description } : { name: `${name} [${status}: ${problem ?? ''}]`, description }
      })
      // The author wrote this description, and the owner has not approved it.
      const isForeign = found.some(({ origin, status }) => origin !== 'workspace' && status !== 'on')
      const none = argument === '' ? 'There are no skills.' : `No skill is named ${quoted(argument)}.`
      return { ...describe(entries, none), ...(isForeign && { label: 'untrusted' }) }
    },
  }
  return [list, caps, skills]
}

function describe(entries: readonly { name: string; description: string }[], none: string): CommandAnswer {
  if (entries.length === 0) return done(none)
  const lines = entries
    .slice(0, maxShown)
    .map(({ name, description }) => `${name}: ${description.replaceAll(/\s+/g, ' ').trim()}`)
  const more = entries.length - lines.length
  return done([...lines, ...(more > 0 ? [`… and ${more} more. Add a word to search for.`] : [])].join('\n'))
}
