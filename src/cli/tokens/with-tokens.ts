import type { CommandContext } from '../command.ts'
import { connect } from '../connect.ts'
import { createTokensClient, type TokensClient } from './tokens-client.ts'

/** Asks once: a token that was made before Familiar went away is not made again. */
export async function withTokens<T>(context: CommandContext, work: (tokens: TokensClient) => Promise<T>): Promise<T> {
  const connection = await connect(context)
  try {
    return await work(createTokensClient(connection.client.transport))
  } finally {
    await connection.close()
  }
}
