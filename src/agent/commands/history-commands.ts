import { truncateText } from '../../base/text.ts'
import { readBundledText } from '../../base/text-file.ts'
import { formatMoment } from '../../tools/schedules/format-moment.ts'
import { type Command, type CommandAnswer, done, misused, never, refused } from './command.ts'
import type { CommandServices } from './command-services.ts'
import { plural, quoted, readCount } from './command-text.ts'
import { readLog, type SaidLine, saidOf } from './read-log.ts'
import { sessionHere, sessionNamed, sessionNames } from './session-of.ts'

const summaryPrompt = readBundledText(new URL('./prompts/summary.md', import.meta.url))
const usualLines = 10
const mostLines = 200
const lineCharacters = 2_000
const mostSummarised = 400
const transcriptCharacters = 60_000

/** What was said, and what it comes to. */
export function createHistoryCommands(
  services: Pick<CommandServices, 'conversations' | 'askModel' | 'timeZone'>,
): Command[] {
  const { conversations, askModel, timeZone } = services

  const history: Command = {
    name: 'history',
    usage: '/history [N]',
    summary: `the newest N messages of the session (${usualLines})`,
    changesForGood: false,
    agentMay: true,
    acts: never,
    async run(call) {
      const count = call.argument === '' ? usualLines : readCount(call.argument)
      if (count === undefined || count > mostLines) return misused(`N is a number from 1 to ${mostLines}.`, history)
      const session = await sessionHere(conversations, call)
      const said = saidOf(await readLog(conversations, session, (events) => saidOf(events).length >= count))
      const shown = said.slice(-count)
      if (shown.length === 0) return done('Nothing was said here yet.')
      return tell(shown.map((line) => `${formatMoment(line.at, timeZone)} ${spoken(line)}`).join('\n'), shown)
    },
  }

  const summary: Command = {
    name: 'summary',
    usage: '/summary [SESSION]',
    summary: 'what a session was about',
    changesForGood: false,
    agentMay: true,
    acts: never,
    complete: ({ userId }) => sessionNames(conversations, userId),
    async run(call) {
      const { userId, argument, signal } = call
      const session = await sessionNamed(conversations, call, argument)
      const events = await readLog(conversations, session, (found) => saidOf(found).length >= mostSummarised)
      const said = saidOf(events).slice(-mostSummarised)
      if (said.length === 0) return done('Nothing was said there yet.')
      const earlier = events.findLast((event) => event.type === 'compacted')
      const parts = [...(earlier ? [`Earlier: ${earlier.summary}`] : []), ...said.map(spoken)]
      const sources = [...said, { isUntrusted: earlier?.label === 'untrusted' }]
      const text = parts.join('\n\n').slice(-transcriptCharacters).toWellFormed()
      const answer = await askModel({
        userId,
        sessionId: session.id,
        purpose: 'summary',
        system: summaryPrompt,
        text,
        signal,
      })
      if (answer.ok && answer.text.trim() !== '') return tell(answer.text.trim(), sources)
      if (!answer.ok && answer.reason === 'aborted') return refused('Stopped.')
      const why = answer.ok ? 'The model gave no summary' : answer.message
      return tell(`${why}. What can be told without one:\n${outline(said, earlier?.summary)}`, sources)
    },
  }

  /** The last summary of the conversation itself, and its ends. */
  function outline(said: readonly SaidLine[], earlier: string | undefined): string {
    const first = said[0]
    const last = said.at(-1)
    return [
      ...(earlier ? [earlier] : []),
      ...(first && last
        ? [
            `${plural(said.length, 'message')} from ${formatMoment(first.at, timeZone)} to ${formatMoment(last.at, timeZone)}.`,
            `First ${quoted(first.text, 300)}`,
            `Last ${quoted(last.text, 300)}`,
          ]
        : []),
    ].join('\n')
  }
  return [history, summary]
}

function spoken({ who, text }: SaidLine): string {
  return `${who === 'user' ? 'You' : 'Familiar'}: ${truncateText(text.trim(), lineCharacters)}`
}

function tell(text: string, sources: readonly { isUntrusted: boolean }[]): CommandAnswer {
  const isUntrusted = sources.some((source) => source.isUntrusted)
  return done(text, { isPrivate: true, ...(isUntrusted && { label: 'untrusted' }) })
}
