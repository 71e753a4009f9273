import { setTimeout as wait } from 'node:timers/promises'
import { createFastClock } from './fast-clock.ts'
import { openTelegramWorld } from './telegram-world.ts'

/**
 * A Familiar with Telegram, until so many messages are worked through and everything is sent. Kills itself at the given
 * step; says how often each was passed otherwise.
 */
const [home = '', apiRoot = '', token = '', plan = '{}', step = '', passing = ''] = process.argv.slice(2)
const { messages, chats, speed, begin } = JSON.parse(plan) as {
  messages: number
  chats: number[]
  speed: number
  begin: number
}
const passings: Record<string, number> = {}

const world = await openTelegramWorld({
  home,
  server: { apiRoot, token },
  allowedIds: chats,
  clock: createFastClock(speed, begin),
  onStep(name) {
    passings[name] = (passings[name] ?? 0) + 1
    if (name === step && passings[name] === Number(passing)) process.kill(process.pid, 'SIGKILL')
  },
})
const { database } = world.familiar
const heard = async () => (await database.read.selectFrom('inbox').select('id').execute()).length
// A lost message never arrives: the final check finds it.
const deadline = performance.now() + 60_000
while (performance.now() < deadline && ((await heard()) < messages || !(await world.isQuiet()))) await wait(10)
await world.close({ keep: true })
console.log(JSON.stringify({ passings }))
