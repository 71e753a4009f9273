import { createIds } from '../../src/base/ids.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { createSchedules } from '../../src/daemon/scheduler/create-schedules.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { openScriptedFamiliar } from '../support/scripted-familiar.ts'
import { createScriptedModel } from '../support/scripted-model.ts'

/**
 * A Familiar whose clock stands at the given time. It makes two schedules, or sends what is due and waits for the ends
 * of the turns. Kills itself at the given step; otherwise says how often each was passed and what came of it all.
 */
const [home = '', time = '', way = '', step = '', passing = ''] = process.argv.slice(2)
const passings: Record<string, number> = {}

function pass(name: string): void {
  passings[name] = (passings[name] ?? 0) + 1
  // Not an exit: nothing is flushed, closed or reported, and no line of ours runs after this one.
  if (name === step && passings[name] === Number(passing)) process.kill(process.pid, 'SIGKILL')
}

const clock = createManualClock(Date.parse(time))
const familiar = await openScriptedFamiliar({
  model: createScriptedModel({ script: () => ({ text: 'Understood.' }) }),
  home,
  clock,
  toml: '[memory]\nconversations = false\nextraction = false\n',
  onStep: pass,
})
const { conversations, database, userId } = familiar
const schedules = createSchedules({
  database,
  conversations,
  readHeartbeat: async () => undefined,
  clock,
  ids: createIds(clock),
  timeZone: 'UTC',
  logger: silentLogger,
  onStep: pass,
})

if (way === 'prepare') {
  const request = { userId, message: 'Call Anna', session: 'main', author: 'user', trust: 'owner' } as const
  await schedules.add({ ...request, time: { at: '9:00' } })
  await schedules.add({ ...request, time: { cron: '0 9 * * *' } })
} else {
  await conversations.recover()
  await schedules.start()
}
const messages = await database.read.selectFrom('inbox').select(['id', 'key']).execute()
for (const { id } of messages) await conversations.waitForTurn(id)
await schedules.close()
const runs = await database.read.selectFrom('schedule_runs').select(['state', 'message_id']).execute()
const ends = await database.read.selectFrom('session_events').select('seq').where('type', '=', 'turn_ended').execute()
await familiar.close({ keep: true })
console.log(
  JSON.stringify({
    passings,
    messages: messages.length,
    turns: ends.length,
    states: runs.map(({ state }) => state),
    told: runs.every(({ message_id }) => messages.some(({ id }) => id === message_id)),
  }),
)
