import { describeSchedule } from '../../tools/schedules/describe-schedule.ts'
import type { ScheduleTime } from '../../tools/schedules/schedules.ts'
import { type Command, type CommandAnswer, type CommandCall, done, misused, refused } from './command.ts'
import type { CommandServices } from './command-services.ts'
import { quoted } from './command-text.ts'
import { sessionHere } from './session-of.ts'

// A clock time has a colon, too; one with a space behind it ends the time.
const planned = /^(.+?):\s+(\S[\s\S]*)$/
const cancelling = /^cancel(?:\s+(\S+))?$/i
const cronLike = /^[\d*/,\- ]+$/

/** Messages that come later to the session that one is in. */
export function createScheduleCommand(services: Pick<CommandServices, 'conversations' | 'schedules'>): Command {
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
      if (isCancel !== undefined) return id ? cancel(call, id) : misused('Which one? /schedule lists them.', schedule)
      const [, when, message] = planned.exec(argument) ?? []
      if (when === undefined || message === undefined) {
        return misused('Write when, a colon, and the message.', schedule)
      }
      return add(call, when.trim(), message.trim())
    },
  }
  return schedule

  async function list({ userId }: CommandCall): Promise<CommandAnswer> {
    const known = await schedules.list(userId)
    if (known.length === 0) return done('Nothing is scheduled.')
    const isUntrusted = known.some(({ schedule: { trust } }) => trust === 'untrusted')
    const lines = known.map(({ schedule: one, lastRun }) => describeSchedule(one, lastRun))
    return done(lines.join('\n'), { isPrivate: true, ...(isUntrusted && { label: 'untrusted' }) })
  }

  async function cancel({ userId }: CommandCall, id: string) {
    const known = (await schedules.list(userId)).find((one) => one.schedule.id === id)
    if (!known) return refused(`Nothing that is still to come has the id ${quoted(id)}.`)
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
    const { userId, by, trust } = call
    const session = await sessionHere(conversations, call)
    const made = await schedules.add({
      userId,
      time: timeOf(when),
      message,
      session: session.id,
      author: by,
      trust,
    })
    return done(`Scheduled: ${describeSchedule(made)}`, { isPrivate: true })
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
