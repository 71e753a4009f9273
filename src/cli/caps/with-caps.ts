import type { CommandContext } from '../command.ts'
import { type Connection, type ConnectOptions, connect, withFamiliar } from '../connect.ts'
import { type CapsClient, createCapsClient } from './caps-client.ts'

/** `withFamiliar` for what is asked of capabilities. */
export function withCaps<T>(
  context: CommandContext,
  work: (caps: CapsClient, connection: Connection) => Promise<T>,
  options?: ConnectOptions,
): Promise<T> {
  return withFamiliar(context, ({ transport }, connection) => work(createCapsClient(transport), connection), options)
}

/** The same for what may have been done before Familiar went away: nothing of it is done again. */
export async function withCapsOnce<T>(
  context: CommandContext,
  work: (caps: CapsClient, connection: Connection) => Promise<T>,
  options?: ConnectOptions,
): Promise<T> {
  const connection = await connect(context, options)
  try {
    return await work(createCapsClient(connection.client.transport), connection)
  } finally {
    await connection.close()
  }
}
