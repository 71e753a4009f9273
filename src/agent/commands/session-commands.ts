import { formatMoment } from '../../tools/schedules/format-moment.ts'
import { always, type Command, done, misused, never } from './command.ts'
import type { CommandServices } from './command-services.ts'
import { plural, quoted, readCount } from './command-text.ts'
import { marksOf, readLog, saidOf } from './read-log.ts'
import { sessionHere } from './session-of.ts'

const longestName = 200
/** Of the log, while somebody types. */
const lookedForMarks = 2_000

/** What can be done to the session that one is in. */
export function createSessionCommands(services: Pick<CommandServices, 'conversations' | 'timeZone'>): Command[] {
  const { conversations, timeZone } = services

  const mark: Command = {
    name: 'mark',
    usage: '/mark NAME',
    summary: 'name this place, to come back to it',
    changesForGood: false,
    agentMay: false,
    acts: always,
    async run(call) {
      const name = call.argument
      if (name === '') return misused('A mark needs a name, such as before-the-change.', mark)
      if (name.length > longestName) return misused(`A name has ${longestName} characters at most.`, mark)
      if (readCount(name) !== undefined) return misused('A number alone is a number of turns, and no name.', mark)
      await conversations.mark(call.userId, (await sessionHere(conversations, call)).id, name)
      return done(`Marked. Back to here: /rewind ${name}`)
    },
  }

  const rewind: Command = {
    name: 'rewind',
    usage: '/rewind [N | MARK]',
    summary: 'go back by a number of turns (1), or to a mark',
    changesForGood: true,
    agentMay: false,
    acts: never,
    async complete(call) {
      const session = await sessionHere(conversations, call)
      return marksOf(await readLog(conversations, session, (events) => events.length >= lookedForMarks))
    },
    async run(call) {
      const { userId, argument } = call
      const session = await sessionHere(conversations, call)
      const turns = argument === '' ? 1 : readCount(argument)
      if (turns === undefined) {
        const marks = marksOf(await readLog(conversations, session, (events) => marksOf(events).includes(argument)))
        if (!marks.includes(argument)) return misused(`There is no mark named ${quoted(argument)}.`, rewind)
      }
      const events = await readLog(conversations, session, (found) => turnStarts(found).length > (turns ?? 1))
      const starts = turnStarts(events)
      if (turns !== undefined && turns > starts.length) {
        return misused(`Cannot go back ${plural(turns, 'turn')}; there are ${starts.length}.`, rewind)
      }
      const first = turns === undefined ? undefined : starts.at(-turns)
      const last = starts.at(-1)
      const to = first
        ? `${plural(turns ?? 1, 'turn')}, to before ${quoted(first.text)} of ${formatMoment(first.at, timeZone)}`
        : `to the mark ${quoted(argument)}`
      const here = `${quoted(session.contact)} (${plural(session.lastSeq, 'event')})`
      const newest = last ? ` The newest is ${quoted(last.text)}.` : ''
      return {
        question: `Go back in ${here} ${to}?${newest} What came after is not sent to the model any more; the log keeps it.`,
        async carryOut() {
          await conversations.rewind(userId, session.id, turns === undefined ? { mark: argument } : { turns })
          return done(turns === undefined ? `Back at ${argument}.` : `Back by ${plural(turns, 'turn')}.`)
        },
      }
    },
  }

  const fork: Command = {
    name: 'fork',
    usage: '/fork NAME',
    summary: 'go on in a copy of the session',
    changesForGood: false,
    agentMay: false,
    acts: always,
    async run(call) {
      const name = call.argument
      if (name === '') return misused('The copy needs a name, such as another-way.', fork)
      if (name.length > longestName) return misused(`A name has ${longestName} characters at most.`, fork)
      const forked = await conversations.fork(call.userId, (await sessionHere(conversations, call)).id, name)
      const text = `You are in ${forked.contact} now. The session before stays as it was.`
      return done(text, { goesOnIn: forked.id })
    },
  }

  const stop: Command = {
    name: 'stop',
    usage: '/stop',
    summary: 'stop what is running here',
    changesForGood: false,
    agentMay: false,
    acts: always,
    async run(call) {
      const session = await sessionHere(conversations, call)
      return done((await conversations.stop(call.userId, session.id)) ? 'Stopping.' : 'Nothing is running.')
    },
  }

  const reset: Command = {
    name: 'reset',
    usage: '/reset',
    summary: 'archive the session and begin anew',
    changesForGood: true,
    agentMay: false,
    acts: never,
    async run(call) {
      const session = await sessionHere(conversations, call)
      const { id, contact, lastSeq } = session
      if (session.state === 'archived') return misused('The session is archived already.', reset)
      const size = `${plural(lastSeq, 'event')} up to ${formatMoment(session.updatedAt, timeZone)}`
      return {
        question: `Archive ${quoted(contact)} (${size}) and begin anew? Nothing is deleted, and nothing comes back by itself.`,
        async carryOut() {
          await conversations.reset(call.userId, { sessionId: id })
          return done(`Archived as ${id}. The next message begins a new session.`, { goesOnIn: contact })
        },
      }
    },
  }
  return [mark, rewind, fork, stop, reset]
}

/** The first that the user said in each turn, oldest first. */
function turnStarts(events: Parameters<typeof saidOf>[0]) {
  const said = saidOf(events).filter(({ who, turnId }) => who === 'user' && turnId !== null)
  return said.filter(({ turnId }, at) => said.findIndex((other) => other.turnId === turnId) === at)
}
