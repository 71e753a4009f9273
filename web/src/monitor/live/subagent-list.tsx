import type { SpawnReply, SpawnsReply } from '../../../../src/protocol/spawn-api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Badge, type BadgeKind } from '../../components/badge.tsx'
import { QuietLink } from '../../components/quiet-link.tsx'
import { When } from '../../components/when.tsx'

const kinds: Record<SpawnReply['state'], BadgeKind> = { running: 'busy', done: 'good', failed: 'bad', stopped: 'plain' }
const shown = 6

/** What works for a conversation: those that run, and the newest of those that have come to an end. */
export function SubagentList({ sessionId }: { sessionId: string }) {
  const { data } = useAnswer<SpawnsReply>(`/sessions/${sessionId}/spawns`, { everyMs: 3_000 })
  const spawns = data?.spawns.toReversed() ?? []
  const running = spawns.filter(({ state }) => state === 'running')
  const ended = spawns.filter(({ state }) => state !== 'running').slice(0, Math.max(0, shown - running.length))
  if (spawns.length === 0) return null
  return (
    <section aria-label="Sub-agents" className="mt-3 border-t border-line pt-2">
      <h4 className="text-sm font-medium">Sub-agents</h4>
      <ul className="mt-1 space-y-1">
        {[...running, ...ended].map((spawn) => (
          <li key={spawn.id} className="flex flex-wrap items-center gap-x-2 text-sm">
            <Badge kind={kinds[spawn.state]}>{spawn.state}</Badge>
            <span className="min-w-0 flex-1 basis-48 truncate" title={spawn.task}>
              {spawn.task}
            </span>
            <span className="text-xs text-soft">
              {spawn.doing ? `step ${spawn.doing.round} ${spawn.doing.tools.join(', ')} ` : ''}
              <When at={spawn.ended_at ?? spawn.created_at} />
            </span>
            {spawn.session_id !== null && (
              <QuietLink href={`/monitor/turn/${spawn.session_id}`}>
                <span className="text-xs">Timeline</span>
              </QuietLink>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
