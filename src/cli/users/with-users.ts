import type { CommandContext } from '../command.ts'
import { connect } from '../connect.ts'
import { createUsersClient, type UsersClient } from './users-client.ts'

/** Asks once: what was done before Familiar went away is not done again. */
export async function withUsers<T>(context: CommandContext, work: (users: UsersClient) => Promise<T>): Promise<T> {
  const connection = await connect(context)
  try {
    return await work(createUsersClient(connection.client.transport))
  } finally {
    await connection.close()
  }
}
