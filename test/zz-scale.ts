import { rmSync, mkdirSync } from 'node:fs'
import { openIn } from './contract/storage-support.ts'
import { createMessageIndex } from '../src/agent/sessions/message-index.ts'
import { createSessionLog } from '../src/agent/sessions/session-log.ts'
import { createWakeups } from '../src/base/work.ts'
import { systemClock } from '../src/base/clock.ts'
import { silentLogger } from '../src/base/logger.ts'
const clock = systemClock()
rmSync('/tmp/scale-db', { recursive: true, force: true }); mkdirSync('/tmp/scale-db')
const db = await openIn('/tmp/scale-db')
await db.write(w => w.insertInto('users').values({ id: 'u', name: 'u', role: 'user', created_at: 0 } as any).execute())
const log = createSessionLog({ database: db, clock, wakeups: createWakeups() })
const index = createMessageIndex({ database: db, log, clock, logger: silentLogger, isHere: async () => true })
const vocab = Array.from({ length: 20000 }, (_, i) => `w${i.toString(36)}x`)
let seed = 1; const rnd = () => (seed = (seed * 48271) % 2147483647) / 2147483647
const word = () => vocab[Math.floor(Math.pow(rnd(), 4) * vocab.length)]
let n = 0
const perSession = 500
async function grow(to: number) {
  while (n < to) {
    const id = `s${Math.floor(n / perSession)}`
    const count = Math.min(perSession, to - n)
    await db.write(async (w) => {
      await w.insertInto('sessions').values({ id, user_id: 'u', channel: 'web', contact: `${id}-${n}`, state: 'archived', last_seq: count, last_input_tokens: 0, created_at: 0, updated_at: n } as any).onConflict(c => c.column('id').doUpdateSet({ last_seq: (n % perSession) + count })).execute()
      const rows = Array.from({ length: count }, (_, k) => ({ session_id: id, seq: (n % perSession) + k + 1, turn_id: 't', at: n, type: 'message_received', data: JSON.stringify({ messageId: `m${n + k}`, text: Array.from({ length: 30 }, word).join(' ') + ((n + k) % 100000 === 7 ? ' needle' : ''), media: [], sender: 'u', source: 'web', tier: 'full', metadata: {} }) }))
      for (let i = 0; i < rows.length; i += 100) await w.insertInto('session_events').values(rows.slice(i, i + 100)).execute()
    })
    n += count
  }
  const t = performance.now()
  index.recover(); await index.idle()
  return performance.now() - t
}
for (const to of [10, 1000, 100000, ...(process.argv[2] ? [Number(process.argv[2])] : [])]) {
  const took = await grow(to)
  const time = async (words: string, isTyping = false) => {
    await index.search({ userId: 'u', words, limit: 6, isTyping })
    const ts: number[] = []
    for (let i = 0; i < 9; i++) { const t = performance.now(); await index.search({ userId: 'u', words, limit: 6, isTyping }); ts.push(performance.now() - t) }
    return ts.sort((a, b) => a - b)[4]!.toFixed(1)
  }
  console.log(to, 'index s', (took / 1000).toFixed(1), 'rare', await time('needle'), 'common', await time(vocab[0]!), 'two common', await time(`${vocab[0]} ${vocab[1]}`), 'typing', await time('w1', true), 'five', await time(`${vocab[0]} ${vocab[1]} ${vocab[2]} ${vocab[3]} nee`, true), 'bytes', await db.sizeInBytes())
}
await index.close(); await db.close(); rmSync('/tmp/scale-db', { recursive: true, force: true }); process.exit(0)
