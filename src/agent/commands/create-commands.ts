import { toStorableText } from '../../base/text.ts'
import { errorStatus, FamiliarError } from '../../protocol/error.ts'
import { confirmationOf } from '../../tools/builtin/slash-command.ts'
import { createBlockCommands } from './block-commands.ts'
import type { Command, CommandAnswer, CommandCall, CommandProposal } from './command.ts'
import type { CommandServices } from './command-services.ts'
import type { CommandOutcome, CommandRequest, Commands } from './commands.ts'
import { createCompactCommand } from './compact-command.ts'
import { createHelpCommand } from './help-command.ts'
import { createHistoryCommands } from './history-commands.ts'
import { createLookCommands } from './look-commands.ts'
import { createMemoryCommands } from './memory-commands.ts'
import { createModelCommand } from './model-command.ts'
import { parseLine } from './parse-line.ts'
import { createScheduleCommand } from './schedule-command.ts'
import { createSessionCommands } from './session-commands.ts'
import { createToolCommands } from './tool-commands.ts'

const mostCandidates = 50
const longestLine = 20_000

/** The one registry of commands (CMD-1). */
export function createCommands(services: CommandServices): Commands {
  const all: Command[] = [
    ...createBlockCommands(services),
    createCompactCommand(services),
    ...createHistoryCommands(services),
    ...createLookCommands(services),
    ...createMemoryCommands(services),
    createModelCommand(services),
    createScheduleCommand(services),
    ...createSessionCommands(services),
    ...createToolCommands(services),
  ]
  all.push(createHelpCommand(() => all))
  all.sort((one, other) => (one.name < other.name ? -1 : 1))
  const byName = new Map(all.map((command) => [command.name, command]))

  async function perform(request: CommandRequest): Promise<CommandOutcome> {
    const { by, userId, sessionId, confirm, signal } = request
    if (request.line.length > longestLine) return wrong(`A command has ${longestLine} characters at most.`)
    const parsed = parseLine(services.redact(toStorableText(request.line)))
    if (!parsed) return wrong('A command begins with a slash and a name: /help lists them.')
    const command = byName.get(parsed.name)
    if (!command || (by === 'agent' && !command.agentMay)) return wrong(unknown(parsed.name, by))
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
    if (known && by === 'agent') return `Only the user can do /${known.name}.`
    const near = all.filter((command) => name !== '' && command.name.startsWith(name.slice(0, 3)))
    const hint = near.length > 0 ? ` Did you mean ${near.map((command) => `/${command.name}`).join(' or ')}?` : ''
    return `There is no /${name.slice(0, 40).toWellFormed()}.${hint} /help lists what there is.`
  }

  return {
    list: () =>
      all.map(({ name, usage, summary, changesForGood, agentMay }) => {
        return { name, usage, summary, changesForGood, agentMay }
      }),

    acts(line) {
      const parsed = parseLine(line)
      const command = parsed && byName.get(parsed.name)
      return !command || command.acts(parsed.argument)
    },

    async complete({ userId, sessionId, line }) {
      const nothing = { start: line.length, candidates: [] }
      const parsed = line.length > longestLine ? undefined : parseLine(line)
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
      return { start: parsed.start, candidates: fitting.slice(0, mostCandidates).map((text) => ({ text })) }
    },

    async run(request) {
      try {
        return await perform(request)
      } catch (cause) {
        if (cause instanceof FamiliarError && errorStatus[cause.code] < 500) return wrong(cause.message)
        throw cause
      }
    },
  }
}

function wrong(text: string): CommandOutcome {
  return { ok: false, text }
}
