import type { ContextReply } from '../../../../src/protocol/api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Failure } from '../../components/notice.tsx'
import { QuietLink } from '../../components/quiet-link.tsx'
import { Panel, Screen, Section } from '../../components/screen.tsx'
import { useSessionName } from '../session-name.ts'
import { RequestList } from './request-list.tsx'
import { WindowPicture } from './window-picture.tsx'

/** What fills the window of a conversation: what would be sent next, and what each request before has held. */
export function ContextView({ sessionId }: { sessionId: string }) {
  const context = useAnswer<ContextReply>(`/sessions/${sessionId}/context`, { everyMs: 5_000 })
  const nameOf = useSessionName()
  return (
    <Screen
      title="Context window"
      intro={nameOf(sessionId)}
      actions={
        <span className="flex flex-wrap gap-4 text-sm">
          <QuietLink href="/monitor">Monitor</QuietLink>
          <QuietLink href={`/talk/${sessionId}`}>Conversation</QuietLink>
          <QuietLink href={`/monitor/turn/${sessionId}`}>Last turn</QuietLink>
        </span>
      }
    >
      <Section title="What would be sent next">
        {context.error && <Failure error={context.error} onRetry={context.refresh} />}
        {context.data && (
          <Panel>
            <WindowPicture context={context.data} />
          </Panel>
        )}
      </Section>
      <Section title="What was sent before">
        <RequestList sessionId={sessionId} />
      </Section>
    </Screen>
  )
}
