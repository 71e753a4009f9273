import { toDisplayText, truncateText } from '../../base/text.ts'
import { toUsd } from '../../cost/money.ts'
import type { TraceSpan } from '../../protocol/trace-api.ts'
import type { LoggedEvent } from '../../sessions/session-event.ts'
import { usageReply } from './chat-reply.ts'
import { isoTime } from './iso-time.ts'

const detailLength = 240

type ToolStarted = Extract<LoggedEvent, { type: 'tool_started' }>

/**
 * The steps of one turn on a line of time. The log knows when something was over; a model was asked when the step before was,
 * because the two are one commit.
 */
export function spansOf(events: readonly LoggedEvent[]): TraceSpan[] {
  const spans: TraceSpan[] = []
  const running = new Map<string, ToolStarted>()
  let free = events[0]?.at ?? 0
  let first = ''
  let asked = ''
  let isEnded = false
  let lastSeq = 0

  const add = (span: Partial<TraceSpan> & Pick<TraceSpan, 'seq' | 'kind' | 'name'>, from: number, to: number | null) =>
    spans.push({
      detail: '',
      is_error: false,
      usage: null,
      cost_usd: null,
      ...span,
      started_at: isoTime(from),
      ended_at: to === null ? null : isoTime(to),
    })

  for (const event of events) {
    const { seq, at } = event
    lastSeq = seq
    switch (event.type) {
      case 'turn_started':
        first = event.model
        asked = first
        break
      case 'model_responded': {
        const { model, usage, costNanousd } = event
        const cost_usd = costNanousd === null ? null : toUsd(costNanousd)
        add({ seq, kind: 'model', name: model, usage: usageReply(usage), cost_usd }, free, at)
        asked = first
        free = at
        break
      }
      case 'model_failed':
        add({ seq, kind: 'model', name: asked, detail: shown(event.reason), is_error: true }, free, at)
        if (event.waitMs > 0)
          add({ seq, kind: 'wait', name: 'Wait', detail: `before try ${event.attempt}` }, at, at + event.waitMs)
        // The event names the one that is asked next.
        asked = event.model
        free = at + event.waitMs
        break
      case 'tool_started':
        running.set(event.callId, event)
        break
      case 'tool_finished': {
        const started = running.get(event.callId)
        running.delete(event.callId)
        const detail = event.isError ? shown(event.text) : given(started)
        add({ seq, kind: 'tool', name: event.name, detail, is_error: event.isError }, started?.at ?? at, at)
        free = Math.max(free, at)
        break
      }
      case 'model_notified':
        add({ seq, kind: 'note', name: 'Told to come to an end', detail: shown(event.text) }, at, at)
        break
      case 'stop_requested':
        add({ seq, kind: 'note', name: 'You stopped it' }, at, at)
        break
      case 'turn_ended':
        isEnded = true
        break
      default:
    }
  }
  if (isEnded) return spans
  for (const call of running.values())
    add({ seq: call.seq, kind: 'tool', name: call.name, detail: given(call) }, call.at, null)
  if (running.size === 0 && events.length > 0)
    add({ seq: lastSeq, kind: 'model', name: asked, detail: 'under way' }, free, null)
  return spans
}

function given(call: ToolStarted | undefined): string {
  if (!call) return ''
  const input = shown(JSON.stringify(call.input))
  return call.isClients ? `asked of your client: ${input}` : input
}

function shown(text: string): string {
  return truncateText(toDisplayText(text), detailLength)
}
