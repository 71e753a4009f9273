import type { CommandContext } from '../command.ts'
import { connect, withFamiliar } from '../connect.ts'
import { createToolsClient, type ToolsClient } from './tools-client.ts'

/** `withFamiliar` for what is asked of tools. */
export function withTools<T>(context: CommandContext, work: (tools: ToolsClient) => Promise<T>): Promise<T> {
  return withFamiliar(context, ({ transport }) => work(createToolsClient(transport)))
}

/** The same for a tool at work: it may have done something before Familiar went away, so nothing is done again. */
export async function withToolsOnce<T>(context: CommandContext, work: (tools: ToolsClient) => Promise<T>): Promise<T> {
  const connection = await connect(context)
  try {
    return await work(createToolsClient(connection.client.transport))
  } finally {
    await connection.close()
  }
}
