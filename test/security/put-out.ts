import type { ServedFamiliar } from './http-support.ts'

/** Queues an outgoing item of the owner and returns its id. It is not sent. */
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
