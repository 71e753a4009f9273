import { useState } from 'react'
import type { MonitorReply, StatusReply } from '../../../src/protocol/api.ts'
import type { SpawnReply } from '../../../src/protocol/commands.ts'
import { call, useAnswer } from '../api/call.ts'
import { Badge, type BadgeKind, Button } from '../components/controls.tsx'
import { Empty, Failure, Notice, useToasts } from '../components/feedback.tsx'
import { Icon } from '../components/icon.tsx'
import { DataTable, FieldList, Panel, QuietLink, Screen, Section, When } from '../components/layout.tsx'
import { count, shortCount } from '../cost/money.ts'
import { usePlace } from '../shell/router.tsx'
import { formatBytes, formatList } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { ContextView } from './context-view.tsx'
import { isWork, uptime, useSessionName } from './timeline.ts'
import { TraceView } from './trace-view.tsx'

/** The state of the daemon, and background problems that are not shown elsewhere. */
function Health({ status }: { status: StatusReply | undefined }) {
  const { data: memory } = useAnswer('memories.stats', {}, { everyMs: 30_000 })
  if (!status) return null
  const { embedding, learning } = memory ?? {}
  const troubles = [
    embedding?.problem && t.monitor.semanticSearch(embedding.problem),
    learning?.extraction && t.monitor.learning(learning.extraction.last.reason),
    learning?.consolidation && t.monitor.memoryCleanup(learning.consolidation.last.reason),
  ].filter((trouble) => typeof trouble === 'string')
  return (
    <Section title={t.monitor.health}>
      <div className="space-y-3">
        {troubles.map((trouble) => (
          <Notice key={trouble} kind="warning">
            {trouble}
          </Notice>
        ))}
        <Panel>
          <FieldList
            facts={[
              [t.monitor.uptime, t.monitor.uptimeValue(uptime(status.uptime_seconds))],
              [t.common.version, status.version],
              [t.monitor.model, status.stats?.model],
              [t.monitor.runningTurns, status.stats && count(status.stats.turns_running)],
              [t.monitor.queuedMessages, status.stats && count(status.stats.messages_waiting)],
              [t.common.conversations, status.stats && count(status.stats.sessions)],
              [
                t.common.learning,
                learning &&
                  (learning.waiting > 0 ? t.monitor.conversationsToProcess(learning.waiting) : t.monitor.upToDate),
              ],
              [t.monitor.database, memory && formatBytes(memory.database_bytes)],
              [
                t.monitor.semanticSearchTitle,
                embedding && t.monitor.ofMemories(count(embedding.embedded), count(embedding.total), embedding.model),
              ],
            ]}
          />
        </Panel>
      </div>
    </Section>
  )
}

const kinds: Record<SpawnReply['state'], BadgeKind> = { running: 'busy', done: 'good', failed: 'bad', stopped: 'plain' }
const maxSubagents = 6

/** The sub-agents of a conversation: the running ones, and the newest finished ones. */
function SubagentList({ sessionId }: { sessionId: string }) {
  const { data } = useAnswer('spawns.list', { id: sessionId }, { everyMs: 3_000 })
  const spawns = data?.spawns.toReversed() ?? []
  const running = spawns.filter(({ state }) => state === 'running')
  const ended = spawns.filter(({ state }) => state !== 'running').slice(0, Math.max(0, maxSubagents - running.length))
  if (spawns.length === 0) return null
  return (
    <section aria-label={t.common.subAgents} className="mt-3 border-t border-line pt-2">
      <h4 className="text-sm font-medium">{t.common.subAgents}</h4>
      <ul className="mt-1 space-y-1">
        {[...running, ...ended].map((spawn) => (
          <li key={spawn.id} className="flex flex-wrap items-center gap-x-2 text-sm">
            <Badge kind={kinds[spawn.state]}>{spawn.state}</Badge>
            <span dir="auto" className="min-w-0 flex-1 basis-48 truncate" title={spawn.task}>
              {spawn.task}
            </span>
            <span className="text-xs text-soft">
              {spawn.doing ? t.monitor.step(spawn.doing.round, formatList(spawn.doing.tools)) : ''}
              <When at={spawn.ended_at ?? spawn.created_at} />
            </span>
            {spawn.session_id !== null && (
              <QuietLink href={`/monitor/turn/${spawn.session_id}`}>
                <span className="text-xs">{t.common.timeline}</span>
              </QuietLink>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

type Turn = MonitorReply['turns'][number]

const turnStates = {
  thinking: t.monitor.thinkingLower,
  tools: t.monitor.usingTools,
  retry_wait: t.monitor.waitingToRetry,
}

/** One turn under way, and a way to stop it. */
function RunningTurn({ turn, onStopped }: { turn: Turn; onStopped(): void }) {
  const { session_id: session, channel, contact } = turn
  const toasts = useToasts()
  const nameOf = useSessionName()
  const [isBusy, setIsBusy] = useState(false)
  const name = nameOf(session, channel, contact)

  async function stop(): Promise<void> {
    setIsBusy(true)
    try {
      // A build is stopped as a whole; stopping only its turn would start another one.
      const { stopped } = await (channel === 'builder'
        ? call('builds.stop', { id: contact })
        : call('sessions.stop', { id: session }))
      toasts.done(stopped ? t.common.stopped : t.monitor.alreadyFinished)
      onStopped()
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <Panel>
      <div className="flex flex-wrap items-start justify-between gap-3">
        <div className="min-w-0 flex-1">
          <h3 className="font-medium">{name}</h3>
          <p className="mt-0.5 flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-soft">
            <Badge kind={turn.state === 'retry_wait' ? 'warn' : 'busy'}>{turnStates[turn.state]}</Badge>
            <span>
              {t.monitor.started} <When at={turn.started_at} />
            </span>
            <span>{t.monitor.stepRound(turn.round)}</span>
            <span>{turn.model}</span>
            <span>{t.monitor.sentReceived(shortCount(turn.input_tokens), shortCount(turn.output_tokens))}</span>
          </p>
        </div>
        <Button kind="danger" isBusy={isBusy} aria-label={t.monitor.stop(name)} onClick={() => void stop()}>
          <Icon name="stop" size={16} /> {t.common.stop}
        </Button>
      </div>
      {turn.tools.length > 0 && (
        <ul aria-label={t.monitor.runningTools} className="mt-2 flex flex-wrap gap-1.5">
          {turn.tools.map((tool, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: one tool may run several times at once.
            <li key={index} className="rounded-md bg-sunken px-2 py-0.5 font-mono text-xs">
              {tool}
            </li>
          ))}
        </ul>
      )}
      {!isWork(channel) && <SubagentList sessionId={session} />}
      <p className="mt-3 flex flex-wrap gap-4 text-sm">
        {!isWork(channel) && <QuietLink href={`/talk/${session}`}>{t.common.conversation}</QuietLink>}
        <QuietLink href={`/monitor/turn/${session}/${turn.turn_id}`}>{t.common.timeline}</QuietLink>
        <QuietLink href={`/monitor/context/${session}`}>{t.monitor.contextWindow}</QuietLink>
      </p>
    </Panel>
  )
}

const maxWindows = 12

/** The conversations with what their newest request held: the way to the picture of each window. */
function WindowList() {
  const { data } = useAnswer('sessions.list', {}, { everyMs: 10_000 })
  const nameOf = useSessionName()
  if (!data || data.sessions.length === 0) return null
  return (
    <Section title={t.monitor.contextWindows}>
      <DataTable
        caption={t.monitor.conversationsSizeLastRequest}
        columns={[
          { label: t.common.conversation },
          { label: t.monitor.lastRequest, isNumber: true },
          { label: t.monitor.changed, isExtra: true },
          { label: t.monitor.lastTurn },
        ]}
        rows={data.sessions.slice(0, maxWindows).map((session) => ({
          key: session.id,
          cells: [
            <QuietLink key="name" href={`/monitor/context/${session.id}`}>
              {nameOf(session.id, session.channel, session.contact)}
            </QuietLink>,
            session.last_input_tokens > 0
              ? t.monitor.tokensLastInputTokens(count(session.last_input_tokens))
              : t.common.none,
            <When key="when" at={session.updated_at} />,
            <QuietLink key="turn" href={`/monitor/turn/${session.id}`}>
              {t.common.timeline}
            </QuietLink>,
          ],
        }))}
      />
    </Section>
  )
}

const stateBadges: Record<MonitorReply['state'], { text: string; kind: BadgeKind }> = {
  idle: { text: t.monitor.idle, kind: 'good' },
  thinking: { text: t.monitor.thinking, kind: 'busy' },
  tools: { text: t.monitor.usingToolsTitle, kind: 'busy' },
  retry_wait: { text: t.monitor.waitingModel, kind: 'warn' },
}

function LiveView() {
  const monitor = useAnswer('home.monitor', {}, { everyMs: 1_500 })
  const status = useAnswer('home.status', {}, { everyMs: 5_000 })
  const waiting = status.data?.stats?.messages_waiting ?? 0
  const state = monitor.data && stateBadges[monitor.data.state]
  return (
    <Screen
      title={t.monitor.activity}
      intro={t.monitor.currentActivity}
      actions={
        <span role="status" className="flex flex-wrap gap-2">
          {state && <Badge kind={state.kind}>{state.text}</Badge>}
          {waiting > 0 && <Badge kind="warn">{t.monitor.messagesQueued(waiting)}</Badge>}
        </span>
      }
    >
      <Section title={t.monitor.runningNow}>
        {monitor.error && <Failure error={monitor.error} onRetry={monitor.refresh} />}
        {monitor.data?.turns.length === 0 && (
          <Empty title={t.monitor.nothingRunning}>{t.monitor.runningTurnsAppearHere}</Empty>
        )}
        <ul className="space-y-3">
          {monitor.data?.turns.map((turn) => (
            <li key={turn.turn_id}>
              <RunningTurn turn={turn} onStopped={monitor.refresh} />
            </li>
          ))}
        </ul>
      </Section>
      <WindowList />
      <Health status={status.data} />
    </Screen>
  )
}

/** The current activity; `/monitor/context/<session>` shows a context window, `/monitor/turn/<session>/<turn>` a turn. */
export function MonitorScreen() {
  const { path } = usePlace()
  const context = /^\/monitor\/context\/([\w-]+)$/.exec(path)?.[1]
  const [, session, turn] = /^\/monitor\/turn\/([\w-]+)(?:\/([\w-]+))?$/.exec(path) ?? []
  if (context !== undefined) return <ContextView key={context} sessionId={context} />
  if (session !== undefined) return <TraceView key={`${session} ${turn}`} sessionId={session} turnId={turn} />
  return <LiveView />
}
