import { type SessionEvent, sessionEventSchema } from '../agent/sessions/session-event.ts'
import { formatCount, formatDollars, formatDuration, formatTime, oneLine, plural } from '../base/text.ts'
import type { HistoryEvent } from '../protocol/api.ts'

const textLimit = 200

/** `2025-06-01 10:13:05  12  tool_finished    recall_memory: ok: [memory:…` */
export function logLine(event: HistoryEvent): string {
  return `${formatTime(event.at)}  ${String(event.seq).padStart(4)}  ${describeEvent(event)}`
}

/** The event in one line. One of a kind that this version does not know is shown by its name. */
export function describeEvent(event: HistoryEvent): string {
  const parsed = sessionEventSchema.safeParse({ ...event.data, type: event.type })
  const rest = parsed.success ? describeKnown(parsed.data) : oneLine(event.text ?? '', textLimit)
  return `${event.type.padEnd(16)}  ${rest}`.trimEnd()
}

function describeKnown(event: SessionEvent): string {
  switch (event.type) {
    case 'message_received': {
      const files = event.media.map((file) => `[${file.name}]`).join(' ')
      return `${senderName(event.sender)} (${event.source}): ${oneLine(event.text, textLimit)} ${files}`.trimEnd()
    }
    case 'turn_started': {
      const recalled =
        event.recalled.length > 0 ? `, ${plural(event.recalled.length, 'memory', 'memories')} recalled` : ''
      return `${event.model}${recalled}`
    }
    case 'model_responded': {
      const { inputTokens, outputTokens, cacheReadTokens } = event.usage
      const estimated = event.usage.isEstimate ? ' (estimated)' : ''
      const cost = `${formatDollars(event.costNanousd === null ? null : event.costNanousd / 1e9)}${estimated}`
      const tokens = `${formatCount(inputTokens)} in (${formatCount(cacheReadTokens)} cached), ${formatCount(outputTokens)} out`
      return `${event.model}, ${tokens}, ${cost}, ${event.stopReason}: ${describeParts(event.parts)}`
    }
    case 'model_failed':
      return `${event.model}, attempt ${event.attempt}: ${oneLine(event.reason, textLimit)}; again in ${formatDuration(event.waitMs)}`
    case 'tool_started':
      return `${event.name} ${oneLine(JSON.stringify(event.input), textLimit)}`
    case 'tool_finished':
      return `${event.name}: ${event.isError ? 'failed' : 'ok'}: ${oneLine(event.text, textLimit)}`
    case 'approval_asked':
      return oneLine(event.question, textLimit)
    case 'model_notified':
      return `${event.about}: ${oneLine(event.text, textLimit)}`
    case 'stop_requested':
    case 'reset':
      return ''
    case 'turn_ended':
      return `${event.outcome}${event.deliver ? '' : ', not delivered'}: ${oneLine(event.text, textLimit)}`
    case 'context_warned':
      return `${formatCount(event.inputTokens)} of ${formatCount(event.thresholdTokens)} tokens`
    case 'compacted':
      return `${plural(event.messages, 'message')}, ${formatCount(event.beforeTokens)} tokens: ${oneLine(event.summary, textLimit)}`
    case 'marked':
      return event.name
    case 'rewound':
      return `to event ${event.toSeq}`
    case 'branch_chosen':
      return `continues after event ${event.toSeq}${event.removed === undefined ? '' : `, without turn ${event.removed}`}`
    case 'forked':
      return `from ${event.fromSessionId} at event ${event.fromSeq}`
    case 'message_canceled':
      return `message ${event.messageId}`
    default:
      event satisfies never
      return ''
  }
}

/** Without a name it is a user id, and on this command line that is you. */
function senderName(sender: string): string {
  return /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(sender) ? 'you' : sender
}

function describeParts(parts: Extract<SessionEvent, { type: 'model_responded' }>['parts']): string {
  const shown = parts.map((part) => {
    if (part.type === 'text') return oneLine(part.text, textLimit)
    return part.type === 'thinking' ? '[thinking]' : `[calls ${part.name}]`
  })
  return shown.join(' ')
}
