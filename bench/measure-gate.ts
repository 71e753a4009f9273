import { holdsAddress } from '../src/agent/sessions/known-address.ts'
import { emptyProjection, type Projection } from '../src/agent/sessions/projection.ts'
import { createBeginCalls } from '../src/agent/tool-calls.ts'
import { systemClock } from '../src/base/clock.ts'
import { createIds } from '../src/base/ids.ts'
import { createApprovals } from '../src/security/approvals.ts'
import { createGrants, type Reach } from '../src/security/permissions.ts'
import { createAccessTokens } from '../src/security/tokens.ts'
import type { Writer } from '../src/storage/database.ts'
import type { Tool, ToolOutcome } from '../src/tools/tool.ts'
import { openTestDatabase } from '../test/support/open-test-database.ts'
import { median, rounded } from './statistics.ts'

const sessionId = 'session'
const key = () => new Uint8Array(32).fill(7)
/** A tool has at most a thousand permissions, so many belong to many tools. */
const grantsOfTool = 1_000
/** Short rows: some of them are not interrupted, even on a busy machine. */
const callsInARow = 20
const rows = 300
const warmUpRows = 20
const messages = 200

const found = 'https://found.example.org/page'

interface GateFigures {
  /** Standing permissions in the database. */
  grants: number
  call: string
  /** Per call, in milliseconds: the quietest row of calls, and the median of the rows. */
  bestMs: number
  medianMs: number
}

/**
 * The decision of the gate for one call, by itself: from the call of the model to the event that starts it, in an open
 * unit, so that no commit is part of it. The bare call makes the same event without asking.
 */
export async function measureGate(options: { sizes: readonly number[]; say(line: string): void }) {
  const figures: GateFigures[] = []
  for (const grants of options.sizes) {
    options.say(`${grants} permissions`)
    figures.push(...(await measureWith(grants)))
  }
  const worst = (of: 'bestMs' | 'medianMs') => Math.max(...figures.map((one) => one[of]))
  return { figures, worstBestMs: worst('bestMs'), worstMedianMs: worst('medianMs') }
}

async function measureWith(count: number): Promise<GateFigures[]> {
  const database = await openTestDatabase({ engine: 'sqlite' })
  const clock = systemClock()
  const conversation = longConversation()
  const base = { database, key, clock, ids: createIds(clock) }
  const grants = createGrants(base)
  const { id: userId } = await createAccessTokens(base).ensureOwner('owner')
  try {
    await fill(count)
    const destinations = ['https://declared.example.org']
    const begin = createBeginCalls({
      approvals: createApprovals({ ...base, minutes: () => 15, grants }),
      grants,
      destinations: () => destinations,
      localeIn: never,
      records: { finishedIn: never, refusedIn: never, abandonedIn: never },
    })
    const calls: readonly [string, Reach, { untrusted: boolean }][] = [
      ['reads', { kind: 'read', destination: null }, { untrusted: true }],
      ['nothing from outside in sight', reachOf('https://host-1.example.org'), { untrusted: false }],
      ['declared destination', reachOf('https://declared.example.org'), { untrusted: true }],
      [
        'address in a long conversation',
        { ...reachOf('https://found.example.org'), reads: found },
        { untrusted: true },
      ],
      ['standing permission', reachOf('https://host-1.example.org'), { untrusted: true }],
    ]
    const measured: GateFigures[] = []
    for (const [call, reach, { untrusted }] of calls) {
      const tool = toolWith(reach)
      const tools = { find: () => tool, list: () => [tool] }
      const turn = {
        ...{ userId, sessionId, turnId: 'turn', userText: 'go on', source: 'http', answers: null },
        seen: { untrusted, private: true },
        tools,
        isKnown: (address: string) => holdsAddress(conversation, address),
        mode: 'balanced' as const,
        language: () => 'en' as const,
        grantedIn: [sessionId],
        calls: [{ type: 'tool_call' as const, id: 'call', name: 'tool_0', input: { city: 'Austin' } }],
      }
      const times: number[] = []
      for (let row = -warmUpRows; row < rows; row += 1) {
        await database.write(async (writer) => {
          const asked = await inARow(async () => {
            const { begun } = await begin(writer, turn)
            if (begun.length !== 1) throw new Error(`${call} was not allowed`)
          })
          const bare = await inARow(async () => {
            const [made] = turn.calls
            tools.find()
            if (!made) throw new Error('there is no call')
          })
          if (row >= 0) times.push((asked - bare) / callsInARow)
        })
      }
      const bestMs = rounded(Math.max(0, Math.min(...times)), 4)
      measured.push({ grants: count, call, bestMs, medianMs: rounded(median(times), 4) })
    }
    return measured
  } finally {
    await database.close()
  }

  async function fill(all: number): Promise<void> {
    const give = (writer: Writer, number: number) =>
      grants.giveIn(writer, {
        userId,
        subject: `tool_${Math.floor(number / grantsOfTool)}`,
        effect: 'reach',
        destination: `https://host-${number}.example.org`,
        sessionId: null,
        expiresAt: null,
        from: 'bench',
      })
    // Each is compared with those of its tool, so the first of each tool are given, and their rows are copied.
    await database.write(async (writer) => {
      for (let number = 0; number < Math.min(all, grantsOfTool); number += 1) await give(writer, number)
    })
    for (let first = grantsOfTool; first < all; first += grantsOfTool) {
      await database.write(async (writer) => {
        const known = await writer.selectFrom('grants').selectAll().where('subject', '=', 'tool_0').execute()
        const copies = known.map((row) => ({
          ...row,
          id: `${row.id}-${first}`,
          subject: `tool_${first / grantsOfTool}`,
        }))
        for (let at = 0; at < copies.length; at += 100) {
          await writer
            .insertInto('grants')
            .values(copies.slice(at, at + 100))
            .execute()
        }
      })
    }
  }
}

const reachOf = (destination: string): Reach => ({ kind: 'reach', destination })

/** Half a million characters, with the address at the end. */
function longConversation(): Projection {
  const projection = emptyProjection()
  for (let number = 0; number <= messages; number += 1) {
    const text = number === messages ? `Please read ${found}` : 'A sentence of some length about nothing. '.repeat(60)
    projection.entries.push({
      role: 'user',
      seq: number,
      turnId: `turn-${number}`,
      context: '',
      texts: [text],
      media: [],
    })
  }
  return projection
}

async function inARow(work: () => Promise<void>): Promise<number> {
  const start = performance.now()
  for (let number = 0; number < callsInARow; number += 1) await work()
  return performance.now() - start
}

function toolWith(reach: Reach): Tool {
  return {
    definition: { name: 'tool_0', description: 'A tool.', inputSchema: {} },
    effect: 'idempotent',
    serial: false,
    core: false,
    aliases: [],
    reach: () => reach,
    run: async (): Promise<ToolOutcome> => ({ text: '', isError: false }),
  }
}

async function never(): Promise<never> {
  throw new Error('every call is allowed')
}
