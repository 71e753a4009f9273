import { useEffect, useState } from 'react'
import type { PageSession } from '../../../src/protocol/page.ts'
import { call, type Reply, useAnswer } from '../api/call.ts'
import { classes } from '../components/controls.tsx'
import { useToasts } from '../components/feedback.tsx'
import { Icon } from '../components/icon.tsx'
import { useIsConnected } from '../models/connection.ts'
import { formatNumber, formatPercent, formatUsd } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import type { Conversation } from './conversation.ts'
import { refreshSessions } from './sessions.ts'

/** Chosen for a conversation that starts with the next message. */
export interface NewConversation {
  /** Empty: the model of the routes. */
  model: string
  isPrivate: boolean
}

/** As wide as what is chosen; two of them fit on a phone. */
const pickerClass =
  'min-h-7 min-w-0 field-sizing-content truncate rounded-lg bg-transparent px-1 hover:bg-sunken hover:text-ink'

export const usualConversation: NewConversation = { model: '', isPrivate: false }

/** The line under the message field: the model, privacy of a new conversation, and the room that is left. */
export function ComposerOptions(props: {
  sessionId: string | null
  session: PageSession | undefined
  conversation: Conversation
  chosen: NewConversation
  onChoose(chosen: NewConversation): void
}) {
  const { sessionId, session, conversation, chosen, onChoose } = props
  const toasts = useToasts()
  // Without a model there is nothing to choose; one that is connected is shown at once.
  const { data } = useAnswer('home.models', useIsConnected() ? {} : null)
  const [picked, setPicked] = useState<{ id: string; model: string }>()
  const own = picked?.id === sessionId ? picked?.model : session?.model
  const model = sessionId === null ? chosen.model : (own ?? '')

  async function choose(next: string): Promise<void> {
    if (sessionId === null) return onChoose({ ...chosen, model: next })
    setPicked({ id: sessionId, model: next })
    try {
      const { ok, text } = await call('commands.run', { line: `/model ${next || 'default'}`, session: sessionId })
      if (!ok) toasts.failed(text)
      refreshSessions()
    } catch (error) {
      setPicked(undefined)
      toasts.failed(error)
    }
  }

  const models = data?.models ?? []
  return (
    <div className="flex min-h-8 items-center gap-1 px-1 pt-1 text-xs text-soft">
      {models.length > 0 && (
        <select
          aria-label={t.composer.model}
          value={model}
          onChange={(event) => void choose(event.target.value)}
          className={pickerClass}
        >
          <option value="">{data?.current ? t.composer.usual(data.current) : t.composer.defaultModel}</option>
          {models.map(({ id }) => (
            <option key={id} value={id}>
              {id}
            </option>
          ))}
        </select>
      )}
      {sessionId === null && (
        <button
          type="button"
          aria-pressed={chosen.isPrivate}
          title={t.composer.privateHint}
          onClick={() => onChoose({ ...chosen, isPrivate: !chosen.isPrivate })}
          className={classes(
            'inline-flex min-h-7 shrink-0 items-center gap-1 rounded-lg px-2 hover:text-ink',
            chosen.isPrivate ? 'bg-accent-soft font-medium text-ink' : 'hover:bg-sunken',
          )}
        >
          <Icon name="eye_off" size={14} /> {t.composer.privateChat}
        </button>
      )}
      {sessionId !== null && <ModePicker key={`mode-${sessionId}`} sessionId={sessionId} />}
      {sessionId !== null && <Meter key={sessionId} sessionId={sessionId} conversation={conversation} />}
    </div>
  )
}

/** How often this conversation asks for approval. */
function ModePicker({ sessionId }: { sessionId: string }) {
  const toasts = useToasts()
  const { data, refresh } = useAnswer('permissions.mode', { id: sessionId })
  const usual = useAnswer('permissions.list', {}).data?.mode
  if (!data || !usual) return null

  async function choose(value: string): Promise<void> {
    const mode = policyModes.find((one) => one === value) ?? null
    await call('permissions.setMode', { id: sessionId, mode }).catch(toasts.failed)
    refresh()
  }

  return (
    <span className="inline-flex min-w-0 items-center ps-1" title={t.composer.mode}>
      <Icon name="shield" size={14} />
      <select
        aria-label={t.composer.mode}
        value={data.mode ?? ''}
        onChange={(event) => void choose(event.target.value)}
        className={pickerClass}
      >
        <option value="">{t.composer.usual(t.composer.modes[usual])}</option>
        {policyModes.map((mode) => (
          <option key={mode} value={mode}>
            {t.composer.modes[mode]}
          </option>
        ))}
      </select>
    </span>
  )
}

const policyModes = ['strict', 'balanced', 'trusting'] as const

/** How full the context window is, and what the conversation has cost. */
function Meter({ sessionId, conversation }: { sessionId: string; conversation: Conversation }) {
  const [report, setReport] = useState<Reply<'sessions.context'>>()
  const turns = conversation.items.filter((item) => item.kind === 'turn' && item.outcome !== undefined)
  const last = turns.at(-1)?.id
  useEffect(() => {
    if (last === undefined) return
    const controller = new AbortController()
    call('sessions.context', { id: sessionId }, { signal: controller.signal }).then(setReport, () => undefined)
    return () => controller.abort()
  }, [sessionId, last])
  if (!report || last === undefined) return null

  const used = report.last_request_tokens ?? report.blocks.reduce((sum, { tokens }) => sum + tokens, 0)
  const limit = report.threshold_tokens
  const cost = turns.reduce((sum, item) => sum + (item.kind === 'turn' ? (item.costUsd ?? 0) : 0), 0)
  return (
    <span
      className="ms-auto shrink-0 tabular-nums"
      title={t.composer.contextTokens(formatNumber(used), formatNumber(limit))}
    >
      {formatPercent(Math.min(1, used / limit))}
      <span className="max-sm:sr-only">
        {' '}
        {t.composer.ofContext}
        {cost > 0 && ` · ${formatUsd(cost, cost < 0.01 ? 4 : 2)}`}
      </span>
    </span>
  )
}
