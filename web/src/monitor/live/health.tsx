import type { StatusReply } from '../../../../src/protocol/api.ts'
import type { MemoryStatsReply } from '../../../../src/protocol/memory-upkeep-api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Facts } from '../../components/facts.tsx'
import { Notice } from '../../components/notice.tsx'
import { Panel, Section } from '../../components/screen.tsx'
import { count } from '../../cost/money.ts'
import { bytes, uptime } from '../words.ts'

/** How it is, beside what it does: and what goes wrong in the background, where nobody is told of it otherwise. */
export function Health({ status }: { status: StatusReply | undefined }) {
  const { data: memory } = useAnswer<MemoryStatsReply>('/memories/stats', { everyMs: 30_000 })
  if (!status) return null
  const { embedding, learning } = memory ?? {}
  const troubles = [
    embedding?.problem && `Search by meaning: ${embedding.problem}`,
    learning?.extraction && `Learning from conversations: ${learning.extraction.last.reason}`,
    learning?.consolidation && `Tidying up memories: ${learning.consolidation.last.reason}`,
  ].filter((trouble) => typeof trouble === 'string')
  return (
    <Section title="Health">
      <div className="space-y-3">
        {troubles.map((trouble) => (
          <Notice key={trouble} kind="warning">
            {trouble}
          </Notice>
        ))}
        <Panel>
          <Facts
            facts={[
              ['Up', `for ${uptime(status.uptime_seconds)}`],
              ['Version', status.version],
              ['Model', status.stats?.model],
              ['Turns running', status.stats && count(status.stats.turns_running)],
              ['Messages waiting', status.stats && count(status.stats.messages_waiting)],
              ['Conversations', status.stats && count(status.stats.sessions)],
              [
                'Learning',
                learning && (learning.waiting > 0 ? `${count(learning.waiting)} still to be read` : 'up to date'),
              ],
              ['Database', memory && bytes(memory.database_bytes)],
              [
                'Search by meaning',
                embedding && `${count(embedding.embedded)} of ${count(embedding.total)} memories (${embedding.model})`,
              ],
            ]}
          />
        </Panel>
      </div>
    </Section>
  )
}
