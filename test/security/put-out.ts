import type { ServedFamiliar } from './http-support.ts'

/** Something of the owner's that is to go out; its id. Nobody sends it. */
export async function putOut({ familiar, outbox }: ServedFamiliar, text: string): Promise<string> {
  const { userId, database } = familiar
  const item = {
    userId,
    channel: 'telegram',
    address: '7',
    key: text,
    payload: { kind: 'text', text },
    sessionId: null,
  }
  await database.write((writer) => outbox.putIn(writer, [item]))
  const [put] = await outbox.list(userId, { limit: 1 })
  return put?.id ?? ''
}
