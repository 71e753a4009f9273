import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { Json } from '../../protocol/json.ts'
import type { Database, Reader, Writer } from '../../storage/database.ts'
import type { ClientCallRow } from '../../storage/workspace-tables.ts'
import type { ClientCall, ClientResult } from './client-calls.ts'

const resultSchema = z.object({ text: z.string(), isUntrusted: z.boolean() })

export interface StoredCall {
  state: ClientCallRow['state']
  expiresAt: number
  result: { text: string; isError: boolean; isUntrusted: boolean } | null
}

interface AskedCall {
  userId: string
  sessionId: string
  turnId: string
  callId: string
  name: string
  arguments: Json
  expiresAt: number
}

type CallKey = Pick<AskedCall, 'sessionId' | 'callId'>

/** What is written down of calls that clients make. */
export interface ClientCallStore {
  /** Asked again after a restart, it gets its whole time once more: while Familiar was down nobody could answer. */
  ask(call: AskedCall): Promise<StoredCall>
  askIn(writer: Writer, call: AskedCall): Promise<StoredCall>
  /** Its time is over, unless its result came in the meantime. */
  expire(key: CallKey): Promise<StoredCall>
  find(key: CallKey): Promise<StoredCall>
  /** Of one turn, those without a result. */
  waiting(turnId: string | null): Promise<ClientCall[]>
  answer(answer: { userId: string; sessionId: string; results: readonly ClientResult[] }): Promise<{ turnId: string }>
}

export function createClientCallStore(dependencies: { database: Database; clock: Clock }): ClientCallStore {
  const { database, clock } = dependencies

  async function answerOne(writer: Writer, userId: string, key: CallKey, given: ClientResult): Promise<string> {
    const row = await rowOf(writer, key)
    if (!row || row.user_id !== userId) {
      throw new FamiliarError('not_found', `There is no call ${JSON.stringify(key.callId)} in the session`)
    }
    if (row.state === 'answered') {
      throw new FamiliarError('conflict', `Call ${key.callId} has its result already; the first one counts`)
    }
    if (row.state === 'expired' || Number(row.expires_at) <= clock.now()) {
      throw new FamiliarError('conflict', `The result of call ${key.callId} comes too late: the model was told so`)
    }
    const text = typeof given.result === 'string' ? given.result : JSON.stringify(given.result)
    await writer
      .updateTable('client_calls')
      .set({
        state: 'answered',
        result: JSON.stringify({ text, isUntrusted: given.isUntrusted }),
        is_error: given.isError ? 1 : 0,
      })
      .where('session_id', '=', key.sessionId)
      .where('call_id', '=', key.callId)
      .execute()
    return row.turn_id
  }

  async function askIn(writer: Writer, asked: AskedCall): Promise<StoredCall> {
    const { sessionId, callId, expiresAt } = asked
    const row: ClientCallRow = {
      session_id: sessionId,
      call_id: callId,
      user_id: asked.userId,
      turn_id: asked.turnId,
      name: asked.name,
      arguments: JSON.stringify(asked.arguments),
      state: 'asked',
      result: null,
      is_error: 0,
      asked_at: clock.now(),
      expires_at: expiresAt,
    }
    await writer
      .insertInto('client_calls')
      .values(row)
      .onConflict((conflict) => conflict.columns(['session_id', 'call_id']).doUpdateSet({ expires_at: expiresAt }))
      .execute()
    return findIn(writer, { sessionId, callId })
  }

  return {
    ask: (call) => database.write((writer) => askIn(writer, call)),
    askIn,
    expire: (key) =>
      database.write(async (writer) => {
        await writer
          .updateTable('client_calls')
          .set({ state: 'expired' })
          .where('session_id', '=', key.sessionId)
          .where('call_id', '=', key.callId)
          .where('state', '=', 'asked')
          .execute()
        return findIn(writer, key)
      }),
    find: (key) => findIn(database.read, key),
    async waiting(turnId) {
      if (turnId === null) return []
      const rows = await database.read
        .selectFrom('client_calls')
        .select(['call_id', 'name', 'arguments', 'expires_at'])
        .where('turn_id', '=', turnId)
        .where('state', '=', 'asked')
        .orderBy('asked_at')
        .orderBy('call_id')
        .execute()
      return rows.map((row) => ({
        id: row.call_id,
        name: row.name,
        arguments: argumentsOf(row.arguments),
        expiresAt: Number(row.expires_at),
      }))
    },
    answer: ({ userId, sessionId, results }) =>
      database.write(async (writer) => {
        const turns = new Set<string>()
        for (const given of results) {
          turns.add(await answerOne(writer, userId, { sessionId, callId: given.callId }, given))
        }
        const [turnId, other] = turns
        if (turnId === undefined || other !== undefined) {
          throw new FamiliarError('bad_request', 'The results must be of calls of one turn')
        }
        return { turnId }
      }),
  }
}

async function findIn(reader: Reader | Writer, key: CallKey): Promise<StoredCall> {
  const row = await rowOf(reader, key)
  if (!row) throw new FamiliarError('internal', `The call ${key.callId} is not written down`)
  const { state } = row
  const expiresAt = Number(row.expires_at)
  if (row.result === null) return { state, expiresAt, result: null }
  const result = parseJson(row.result, resultSchema)
  if (!result.ok) throw new FamiliarError('internal', `The result of call ${key.callId} is damaged: ${result.message}`)
  return { state, expiresAt, result: { ...result.value, isError: row.is_error === 1 } }
}

function rowOf(reader: Reader | Writer, { sessionId, callId }: CallKey): Promise<ClientCallRow | undefined> {
  return reader
    .selectFrom('client_calls')
    .selectAll()
    .where('session_id', '=', sessionId)
    .where('call_id', '=', callId)
    .executeTakeFirst()
}

function argumentsOf(text: string): Json {
  const read = parseJson(text, z.json())
  return read.ok ? read.value : null
}
