import { withoutMentions } from './forget-in-conversations.ts'
import { everyPage, type Forgetting } from './forgetting.ts'

const rowsAtOnce = 100

/**
 * Takes it out of what sub-agents and clients were asked to do and have answered: copies of what stands in the
 * conversations, kept beside them.
 */
export async function forgetInWork(forgetting: Forgetting): Promise<void> {
  await forgetInSpawns(forgetting)
  await forgetInClientCalls(forgetting)
}

async function forgetInSpawns(forgetting: Forgetting): Promise<void> {
  const { database, userId, mentions } = forgetting
  await everyPage<{ id: string; request: string; result: string | null }>(
    forgetting,
    (last) =>
      database.read
        .selectFrom('spawns')
        .select(['id', 'request', 'result'])
        .where('user_id', '=', userId)
        .where('id', '>', last?.id ?? '')
        .orderBy('id')
        .limit(rowsAtOnce)
        .execute(),
    async (page) => {
      for (const { id, ...row } of page) {
        const request = withoutMentions(row.request, mentions)
        const result = row.result === null ? undefined : withoutMentions(row.result, mentions)
        if (request === undefined && result === undefined) continue
        const changed = { ...(request !== undefined && { request }), ...(result !== undefined && { result }) }
        await database.write(async (writer) => {
          await writer.updateTable('spawns').set(changed).where('id', '=', id).execute()
        })
      }
    },
  )
}

async function forgetInClientCalls(forgetting: Forgetting): Promise<void> {
  const { database, userId, mentions } = forgetting
  await everyPage<{ session_id: string; call_id: string; arguments: string; result: string | null }>(
    forgetting,
    (last) =>
      database.read
        .selectFrom('client_calls')
        .select(['session_id', 'call_id', 'arguments', 'result'])
        .where('user_id', '=', userId)
        .where((where) =>
          where.or([
            where('session_id', '>', last?.session_id ?? ''),
            where.and([where('session_id', '=', last?.session_id ?? ''), where('call_id', '>', last?.call_id ?? '')]),
          ]),
        )
        .orderBy('session_id')
        .orderBy('call_id')
        .limit(rowsAtOnce)
        .execute(),
    async (page) => {
      for (const row of page) {
        const given = withoutMentions(row.arguments, mentions)
        const result = row.result === null ? undefined : withoutMentions(row.result, mentions)
        if (given === undefined && result === undefined) continue
        const changed = { ...(given !== undefined && { arguments: given }), ...(result !== undefined && { result }) }
        await database.write(async (writer) => {
          await writer
            .updateTable('client_calls')
            .set(changed)
            .where('session_id', '=', row.session_id)
            .where('call_id', '=', row.call_id)
            .execute()
        })
      }
    },
  )
}
