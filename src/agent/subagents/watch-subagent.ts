import type { Json } from '../../protocol/json.ts'
import type { Spawn } from '../../tools/subagents/subagents.ts'
import type { Conversations } from '../conversations.ts'

/** Tells those who watch the parent's call which tools the sub-agent uses, until the signal aborts. */
export async function watchSubagent(watch: {
  conversations: Pick<Conversations, 'events'>
  spawn: Spawn
  sessionId: string
  signal: AbortSignal
  progress(data: Json): void
}): Promise<void> {
  const { conversations, spawn, sessionId, signal, progress } = watch
  const place = { spawn_id: spawn.id, session_id: sessionId }
  progress({ ...place, state: 'working' })
  for await (const { event } of await conversations.events(spawn.userId, sessionId, '0', signal)) {
    if (event.type === 'tool_start') progress({ ...place, state: 'tool', tool: event.name })
    if (event.type === 'turn_end') progress({ ...place, state: 'ended', outcome: event.outcome })
  }
}
