import type { SessionsReply } from '../../../../src/protocol/api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { DataTable } from '../../components/data-table.tsx'
import { QuietLink } from '../../components/quiet-link.tsx'
import { Section } from '../../components/screen.tsx'
import { When } from '../../components/when.tsx'
import { count } from '../../cost/money.ts'
import { useSessionName } from '../session-name.ts'

const shown = 12

/** The conversations with what their newest request held: the way to the picture of each window. */
export function WindowList() {
  const { data } = useAnswer<SessionsReply>('/sessions', { everyMs: 10_000 })
  const nameOf = useSessionName()
  if (!data || data.sessions.length === 0) return null
  return (
    <Section title="Context windows">
      <DataTable
        caption="Conversations and how much their newest request held"
        columns={[
          { label: 'Conversation' },
          { label: 'Newest request', isNumber: true },
          { label: 'Changed', isExtra: true },
          { label: 'Last turn' },
        ]}
        rows={data.sessions.slice(0, shown).map((session) => ({
          key: session.id,
          cells: [
            <QuietLink key="name" href={`/monitor/context/${session.id}`}>
              {nameOf(session.id, session.channel, session.contact)}
            </QuietLink>,
            session.last_input_tokens > 0 ? `${count(session.last_input_tokens)} tokens` : 'nothing yet',
            <When key="when" at={session.updated_at} />,
            <QuietLink key="turn" href={`/monitor/turn/${session.id}`}>
              Timeline
            </QuietLink>,
          ],
        }))}
      />
    </Section>
  )
}
