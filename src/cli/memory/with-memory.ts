import type { ApiClient } from '../api-client.ts'
import type { CommandContext } from '../command.ts'
import { type ConnectOptions, withFamiliar } from '../connect.ts'
import { createMemoryClient, type MemoryClient } from './memory-client.ts'

/** `withFamiliar` for what is asked of memory. Its part of the API is loaded by nothing else. */
export function withMemory<T>(
  context: CommandContext,
  work: (memory: MemoryClient, client: ApiClient) => Promise<T>,
  options?: ConnectOptions,
): Promise<T> {
  return withFamiliar(context, (client) => work(createMemoryClient(client.transport), client), options)
}
