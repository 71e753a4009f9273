import { setTimeout as wait } from 'node:timers/promises'
import type { AskedCall, Fault } from '../support/fake-telegram/fault.ts'
import { type FakeTelegram, startFakeTelegram } from '../support/fake-telegram/start-fake-telegram.ts'
import type { SaidMessage, TelegramEvidence } from './audit/audit-telegram.ts'
import { createFastClock } from './fast-clock.ts'
import { tokenOf } from './telegram-token.ts'
import { openTelegramWorld } from './telegram-world.ts'

const firstChat = 1001
const chatCount = 50
const strangers = new Set([1049, 1050])
const blocked = new Set([1047, 1048])
const week = 7 * 24 * 60 * 60_000
const maxAtOnce = 8
const speed = 200
// Seconds of a clock that runs fast: far longer than a call takes, so that one that came too early is seen.
const retryAfter = 40

/** So many updates of 50 chats, with everything that Telegram and the network do wrong on the way. */
export async function raiseStorm(updates: number) {
  const clock = createFastClock(speed)
  const server = await startFakeTelegram({ now: clock.now })
  const faults = spoilCalls(server)
  const chats = Array.from({ length: chatCount }, (_, index) => firstChat + index)
  const allowedIds = chats.filter((chat) => !strangers.has(chat))
  const world = await openTelegramWorld({ server, allowedIds, clock })
  const said: SaidMessage[] = []
  const reordered = new Set(chats.filter((chat) => chat % 2 === 0))
  const random = createRandom(7)
  server.reorderBy((batch) => shuffleWithin(batch, reordered, random))

  const speak = (count: number) => {
    for (let i = 0; i < count; i += 1) {
      const chatId = chats[Math.floor(random() * chats.length)] ?? firstChat
      const token = tokenOf(chatId, said.length)
      const messageId = server.say(chatId, `Please note ${token}`)
      said.push({ chatId, messageId, token, isStranger: strangers.has(chatId) })
    }
  }
  const untilQuiet = async () => {
    while (server.waitingUpdates() > 0 || !(await world.isQuiet())) await wait(20)
  }

  const waves = 10
  for (let wave = 1; wave <= waves; wave += 1) {
    speak(Math.ceil(updates / waves / 2))
    if (wave % 2 === 0) server.replay(150)
    // Numbers that jump ahead while messages wait.
    if (wave === 3) server.renumber(5_000_000)
    if (wave === 7) {
      // After a week of silence the numbers may restart, below all earlier ones.
      await untilQuiet()
      clock.skip(week + 60_000)
      server.renumber(17)
    }
    speak(Math.floor(updates / waves / 2))
    while (server.waitingUpdates() > 1_000) await wait(20)
  }
  server.replay()
  await untilQuiet()
  const evidence: TelegramEvidence = {
    botId: server.bot.id,
    said,
    calls: server.calls,
    faults,
    arrived: server.sent.filter(({ chatId }) => !strangers.has(chatId)),
    maxAtOnce,
    reordered,
  }
  const { home } = world.familiar
  return {
    evidence,
    databasePath: `${home}/familiar.db`,
    /** Releases everything except the file. */
    async stop() {
      await world.close({ keep: true })
      await server.close()
    },
    home,
  }
}

/** The faults by position among the calls of the server. */
function spoilCalls(server: FakeTelegram): Map<number, Fault> {
  const faults = new Map<number, Fault>()
  const random = createRandom(3)
  let polls = 0
  const faultOf = ({ method, chatId }: AskedCall): Fault | undefined => {
    if (method === 'sendMessage') return sendFault(random(), chatId)
    if (method !== 'getUpdates') return undefined
    polls += 1
    return polls % 5 === 2 ? pollFaults[Math.floor(polls / 5) % pollFaults.length] : undefined
  }
  server.failBy((call) => {
    const fault = call.chatId !== null && strangers.has(call.chatId) ? undefined : faultOf(call)
    if (fault) faults.set(server.calls.length, fault)
    return fault
  })
  return faults
}

const pollFaults: readonly Fault[] = [
  { kind: 'refuse', code: 429, description: 'Too Many Requests', retryAfter },
  { kind: 'drop' },
  { kind: 'refuse', code: 502, description: 'Bad Gateway' },
  { kind: 'cut' },
  { kind: 'garbage', status: 500, body: '<html>down</html>' },
]

function sendFault(chance: number, chatId: number | null): Fault | undefined {
  if (chatId !== null && blocked.has(chatId)) {
    return { kind: 'refuse', code: 403, description: 'Forbidden: bot was blocked by the user' }
  }
  if (chance < 0.01) return { kind: 'refuse', code: 429, description: 'Too Many Requests', retryAfter }
  if (chance < 0.03) return { kind: 'refuse', code: 500, description: 'Internal Server Error' }
  if (chance < 0.04) return { kind: 'refuse', code: 400, description: 'Bad Request: CHAT_RESTRICTED' }
  return chance < 0.06 ? { kind: 'drop' } : chance < 0.07 ? { kind: 'cut' } : undefined
}

/** Adjacent updates are swapped, within the affected chats. */
function shuffleWithin<T extends { update_id: number }>(
  batch: T[],
  reordered: ReadonlySet<number>,
  random: () => number,
) {
  const shuffled = [...batch]
  for (let at = 0; at + 1 < shuffled.length; at += 1) {
    const [one, other] = [shuffled[at], shuffled[at + 1]]
    if (!one || !other || random() < 0.5) continue
    if (chatOf(one) === chatOf(other) && !reordered.has(chatOf(one))) continue
    shuffled[at] = other
    shuffled[at + 1] = one
  }
  return shuffled
}

function chatOf(update: object): number {
  return Number(/"chat":\{"id":(-?\d+)/.exec(JSON.stringify(update))?.[1])
}

/** The same numbers in every run. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}
