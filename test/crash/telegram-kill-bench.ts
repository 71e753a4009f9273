import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Fault } from '../support/fake-telegram/fault.ts'
import { type FakeTelegram, startFakeTelegram } from '../support/fake-telegram/start-fake-telegram.ts'
import { auditTelegram, type SaidMessage } from './audit/audit-telegram.ts'
import { createFastClock } from './fast-clock.ts'
import { createSceneDatabase } from './scene-database.ts'
import { spawnOwned } from './spawn-owned.ts'
import { tokenOf } from './telegram-token.ts'

const program = join(import.meta.dirname, 'telegram-child.ts')
const chats = [2001, 2002, 2003]
const speed = 20

/** Of what is sent, what goes wrong: by how manieth it is. */
const sendFaults: Readonly<Record<number, Fault>> = {
  2: { kind: 'drop' },
  3: { kind: 'refuse', code: 429, description: 'Too Many Requests', retryAfter: 2 },
  5: { kind: 'refuse', code: 500, description: 'Internal Server Error' },
  6: { kind: 'refuse', code: 400, description: 'Bad Request: CHAT_RESTRICTED' },
}

export interface KillPoint {
  step: string
  passing: number
}

/**
 * Plays a small talk over Telegram to its end; with a point, it is killed there and played again in the same home. How many
 * messages are joined to a turn is not the same in every run, so the last passing of a step may not be reached.
 */
export async function playTelegram(point?: KillPoint): Promise<{
  isKilled: boolean
  passings: Record<string, number>
  violations: string[]
}> {
  const folder = mkdtempSync(join(tmpdir(), 'familiar-telegram-'))
  const begin = Date.now()
  const clock = createFastClock(speed, begin)
  const server = await startFakeTelegram({ now: clock.now })
  try {
    const faults = spoilSending(server)
    const said = speak(server)
    const home = join(folder, 'home')
    const plan = JSON.stringify({ messages: said.length, chats, speed, begin })
    const stored = await createSceneDatabase(home)
    const play = (more: string[] = []) => run([home, server.apiRoot, server.token, plan, ...more], stored.testEnv)
    const first = await play(point && [point.step, String(point.passing)])
    // Telegram may deliver everything again after a restart.
    if (!first) server.replay()
    const passings = first ?? (await play()) ?? {}
    const database = await stored.open()
    const outbox = await database.read.selectFrom('outbox').selectAll().execute()
    await database.close()
    const recorded = await stored.recorded()
    await stored.remove()
    const evidence = { botId: server.bot.id, said, calls: server.calls, faults, arrived: server.sent, maxAtOnce: 8 }
    const found = auditTelegram({ ...evidence, reordered: new Set() }, { recorded, outbox })
    return {
      isKilled: !first,
      passings,
      violations: found.map((line) => (point ? `${point.step} ${point.passing}: ${line}` : line)),
    }
  } finally {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function spoilSending(server: FakeTelegram): Map<number, Fault> {
  const faults = new Map<number, Fault>()
  let sendings = 0
  server.failBy(({ method }) => {
    if (method !== 'sendMessage') return undefined
    sendings += 1
    const fault = sendFaults[sendings]
    if (fault) faults.set(server.calls.length, fault)
    return fault
  })
  return faults
}

/** Two messages in each chat, and one with a file. */
function speak(server: FakeTelegram): SaidMessage[] {
  const said: SaidMessage[] = []
  const add = (chatId: number, say: (token: string) => number) => {
    const token = tokenOf(chatId, said.length)
    said.push({ chatId, messageId: say(token), token, isStranger: false })
  }
  for (const chatId of [...chats, ...chats]) add(chatId, (token) => server.say(chatId, `Please note ${token}`))
  server.addFile('file-1', Buffer.from('Dear Anna'))
  const file = { file_id: 'file-1', file_unique_id: 'file-1', file_name: 'letter.txt', mime_type: 'text/plain' }
  const [first = 0] = chats
  add(first, (token) => server.say(first, '', { caption: `Please read ${token}`, document: { ...file, file_size: 9 } }))
  return said
}

/** How often each step was passed; undefined where it killed itself. */
async function run(args: string[], env: Record<string, string>): Promise<Record<string, number> | undefined> {
  const child = spawnOwned([program, ...args], env)
  const said = { out: '', errors: '' }
  child.stdout.on('data', (chunk) => {
    said.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    said.errors += chunk
  })
  const signal = await new Promise((resolve) => child.once('close', (_code, by) => resolve(by)))
  if (signal === 'SIGKILL') return undefined
  if (!said.out) throw new Error(said.errors)
  return JSON.parse(said.out.trim().split('\n').at(-1) ?? '').passings
}
