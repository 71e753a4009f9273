import type { Clock } from '../../base/clock.ts'
import type { Ids } from '../../base/ids.ts'
import { FamiliarError } from '../../protocol/error.ts'
import { subagentChannel } from '../../sessions/work-channels.ts'
import type { Database, Reader, Writer } from '../../storage/database.ts'
import type { SpawnRow } from '../../storage/workspace-tables.ts'
import type { Spawn, SpawnRequest, SpawnResult } from '../../tools/subagents/subagents.ts'
import { spawnFromRow } from './spawn-row.ts'

interface WantedSpawn {
  userId: string
  sessionId: string
  turnId: string
  callId: string
  request: SpawnRequest
  maxAtOnce: number
}

/** What is written down of spawns. */
export interface SpawnStore {
  /** The one that this call has begun before, or a new one, counted in the same unit. */
  begin(wanted: WantedSpawn): Promise<Spawn>
  /** The first end counts; one that was stopped stays so. */
  end(id: string, state: SpawnRow['state'], result: SpawnResult): Promise<Spawn>
  /** Marks all that are at work for the conversation, and returns them. */
  stopAll(userId: string, sessionId: string): Promise<Spawn[]>
  find(id: string): Promise<Spawn>
  list(userId: string, sessionId: string): Promise<Spawn[]>
  /** Those without a result, of all users. */
  open(): Promise<Spawn[]>
}

export function createSpawnStore(dependencies: { database: Database; clock: Clock; ids: Ids }): SpawnStore {
  const { database, clock, ids } = dependencies

  async function insert(writer: Writer, wanted: WantedSpawn): Promise<string> {
    const id = ids.next()
    await writer
      .insertInto('spawns')
      .values({
        id,
        user_id: wanted.userId,
        parent_session_id: wanted.sessionId,
        parent_turn_id: wanted.turnId,
        call_id: wanted.callId,
        depth: 1,
        request: JSON.stringify(wanted.request),
        state: 'running',
        result: null,
        created_at: clock.now(),
        ended_at: null,
      })
      .execute()
    return id
  }

  return {
    begin: (wanted) =>
      database.write(async (writer) => {
        const { sessionId, callId, maxAtOnce } = wanted
        const of = writer.selectFrom('spawns').where('parent_session_id', '=', sessionId)
        const known = await of.select(['id', 'user_id']).where('call_id', '=', callId).executeTakeFirst()
        if (known && known.user_id === wanted.userId) return findIn(writer, known.id)
        await refuseDepth(writer, wanted)
        const busy = await of.select('id').where('state', '=', 'running').execute()
        if (busy.length >= maxAtOnce) {
          const text = `${busy.length} sub-agents work already, as many as may at once. Wait for one with sessions_wait.`
          throw new FamiliarError('conflict', text)
        }
        return findIn(writer, await insert(writer, wanted))
      }),
    end: (id, state, result) =>
      database.write(async (writer) => {
        const known = await findIn(writer, id)
        if (known.result) return known
        await writer
          .updateTable('spawns')
          .set({
            state: known.state === 'running' ? state : known.state,
            result: JSON.stringify(known.state === 'stopped' ? asStopped(result) : result),
            ended_at: clock.now(),
          })
          .where('id', '=', id)
          .execute()
        return findIn(writer, id)
      }),
    stopAll: (userId, sessionId) =>
      database.write(async (writer) => {
        const rows = await select(writer)
          .where('spawns.user_id', '=', userId)
          .where('spawns.parent_session_id', '=', sessionId)
          .where('spawns.state', '=', 'running')
          .execute()
        for (const { id } of rows) {
          await writer.updateTable('spawns').set({ state: 'stopped' }).where('id', '=', id).execute()
        }
        return rows.map(spawnFromRow)
      }),
    find: (id) => findIn(database.read, id),
    async list(userId, sessionId) {
      const rows = await select(database.read)
        .where('spawns.user_id', '=', userId)
        .where('spawns.parent_session_id', '=', sessionId)
        .orderBy('spawns.created_at')
        .orderBy('spawns.id')
        .execute()
      return rows.map(spawnFromRow)
    },
    async open() {
      const rows = await select(database.read).where('spawns.result', 'is', null).execute()
      return rows.flatMap(readable)
    },
  }
}

/** A damaged row must not keep the others from going on. */
function readable(row: Parameters<typeof spawnFromRow>[0]): Spawn[] {
  try {
    return [spawnFromRow(row)]
  } catch {
    return []
  }
}

/** Stopped before it began, its session says only that it had no rounds. */
function asStopped(result: SpawnResult): SpawnResult {
  return result.outcome === 'stopped' ? result : { ...result, outcome: 'stopped', text: 'Stopped.' }
}

/** A sub-agent has no such tool; were it given one, this still holds. */
async function refuseDepth(writer: Writer, { userId, sessionId }: WantedSpawn): Promise<void> {
  const parent = await writer
    .selectFrom('sessions')
    .select('channel')
    .where('id', '=', sessionId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  if (!parent) throw new FamiliarError('not_found', `There is no session ${sessionId}`)
  if (parent.channel === subagentChannel) throw new FamiliarError('forbidden', 'A sub-agent has no sub-agents')
}

async function findIn(reader: Reader | Writer, id: string): Promise<Spawn> {
  return spawnFromRow(await select(reader).where('spawns.id', '=', id).executeTakeFirstOrThrow())
}

/** With the session that works on it, where there is one. */
function select(reader: Reader | Writer) {
  return reader
    .selectFrom('spawns')
    .leftJoin('sessions', (join) =>
      join
        .onRef('sessions.contact', '=', 'spawns.id')
        .onRef('sessions.user_id', '=', 'spawns.user_id')
        .on('sessions.channel', '=', subagentChannel),
    )
    .selectAll('spawns')
    .select('sessions.id as session_id')
}
