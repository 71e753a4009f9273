import { systemClock } from '../../base/clock.ts'
import { createStatusLine } from '../../channels/terminal/status-line.ts'
import type { ApiClient } from '../api-client.ts'
import type { CommandContext } from '../command.ts'
import { interrupted } from '../command-error.ts'
import type { Watched } from '../watched-result.ts'
import type { MemoryClient } from './memory-client.ts'
import { withMemory } from './with-memory.ts'

/**
 * Work that takes a while, with a line on the terminal that says how far it is. Ctrl-C stops it; `stopped` then says what
 * has become of it.
 */
export async function watchProgress<Progress, Result>(
  context: CommandContext,
  options: {
    describe(progress: Progress): string
    stopped: string
    work(memory: MemoryClient, watched: Watched<Progress>, client: ApiClient): Promise<Result>
  },
): Promise<Result> {
  const { output, stderr, signal } = context
  const status = createStatusLine({ stream: stderr, clock: systemClock(), afterMs: 300 })
  const watched: Watched<Progress> = { signal, onProgress: (progress) => status.show(options.describe(progress)) }
  try {
    return await withMemory(context, (memory, client) => options.work(memory, watched, client), { endsOnAbort: true })
  } catch (error) {
    if (!signal.aborted) throw error
    status.clear()
    output.note(options.stopped)
    throw interrupted()
  } finally {
    status.clear()
  }
}
