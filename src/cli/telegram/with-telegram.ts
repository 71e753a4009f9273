import type { CommandContext } from '../command.ts'
import { connect } from '../connect.ts'
import { createTelegramClient, type TelegramClient } from './telegram-client.ts'

/** Asks once: what was done before Familiar went away is not done again. */
export async function withTelegram<T>(
  context: CommandContext,
  work: (telegram: TelegramClient) => Promise<T>,
): Promise<T> {
  const connection = await connect(context)
  try {
    return await work(createTelegramClient(connection.client.transport))
  } finally {
    await connection.close()
  }
}
