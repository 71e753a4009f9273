import { styleText } from 'node:util'
import { toDisplayText } from '../../base/text.ts'
import type { TurnEvent } from '../../protocol/event.ts'

/** Makes the text of a turn from its events, in the order they come. */
export interface TurnText {
  /** What to write now; empty for an event that shows nothing. */
  add(event: TurnEvent): string
  /** What goes on, for a status line; undefined while text is coming. */
  activity(): string | undefined
}

const inputLimit = 60
const reasonLimit = 120

/** The reply as it streams; tools, retries and other asides as one dim line each. Foreign text is made harmless. */
export function createTurnText(options: { now: () => number; colours: boolean }): TurnText {
  const { now, colours } = options
  const running = new Map<string, { name: string; input: string; startedAt: number }>()
  let atLineStart = true
  /** What the reader has seen since the last aside. */
  let shown = ''
  let waitsUntil: number | undefined

  const paint = (style: 'dim' | 'red' | 'yellow', text: string) =>
    colours ? styleText(style, text, { validateStream: false }) : text

  function write(text: string): string {
    if (text !== '') atLineStart = text.endsWith('\n')
    return text
  }
  const endLine = () => (atLineStart ? '' : write('\n'))

  function aside(text: string, style: 'dim' | 'red' | 'yellow' = 'dim'): string {
    shown = ''
    return endLine() + write(`${paint(style, `  · ${clip(text, 300)}`)}\n`)
  }

  function speak(text: string): string {
    const safe = toDisplayText(text)
    // A model likes to begin with an empty line.
    const visible = shown === '' ? safe.trimStart() : safe
    shown += visible
    return write(visible)
  }

  function finish(text: string): string {
    const whole = toDisplayText(text).trim()
    const seen = shown.trim()
    if (whole === '' || seen.endsWith(whole)) return endLine()
    if (seen !== '' && whole.startsWith(seen)) return speak(whole.slice(seen.length)) + endLine()
    shown = ''
    return endLine() + speak(whole) + endLine()
  }

  return {
    add(event) {
      waitsUntil = undefined
      switch (event.type) {
        case 'text_delta':
          return speak(event.text)
        case 'tool_start':
          running.set(event.callId, { name: event.name, input: describeInput(event.input), startedAt: now() })
          return ''
        case 'tool_result': {
          const call = running.get(event.callId)
          running.delete(event.callId)
          const what = [event.name, call?.input].filter(Boolean).join(' ')
          const took = call ? `, ${formatTook(now() - call.startedAt)}` : ''
          if (!event.isError) return aside(`${what}${took}, ok`)
          return aside(`${what}${took}, failed: ${clip(event.result, reasonLimit)}`, 'red')
        }
        case 'retry':
          waitsUntil = now() + event.waitMs
          return aside(`${clip(event.reason, reasonLimit)}; trying again in ${formatTook(event.waitMs)}`, 'yellow')
        case 'memory_recalled':
          return aside(event.memories.length === 1 ? 'recalled a memory' : `recalled ${event.memories.length} memories`)
        case 'response':
          return event.deliver ? finish(event.text) : endLine()
        case 'turn_end':
          // However it ended, the response has said so.
          return endLine()
        case 'context_warning':
          return aside(`the context is filling: ${event.inputTokens} of ${event.thresholdTokens} tokens`, 'yellow')
        case 'compaction':
          return aside(`the oldest ${event.messages} messages are now a summary`)
        case 'said':
          return aside(event.text)
        case 'reaction':
          return aside(event.emoji)
        case 'card':
          return aside(event.card.text)
        case 'media':
          return aside(event.media.map(({ name }) => name).join(', '))
        case 'approval_request':
        case 'message':
        case 'turn_start':
        case 'thinking_delta':
        case 'tool_calls':
        case 'tool_progress':
        case 'cost':
        case 'session_changed':
          return ''
        default:
          event satisfies never
          return ''
      }
    },
    activity() {
      if (!atLineStart) return undefined
      if (running.size > 0) return [...running.values()].map((call) => call.name).join(', ')
      return waitsUntil === undefined ? 'thinking' : 'waiting to try again'
    },
  }
}

/** The one argument that tells the most, which is nearly always the first text. */
function describeInput(input: unknown): string {
  if (typeof input !== 'object' || input === null) return ''
  const first = Object.values(input).find((value) => typeof value === 'string')
  return first ? JSON.stringify(clip(first, inputLimit)) : ''
}

function clip(text: string, limit: number): string {
  const line = toDisplayText(text).replace(/\s+/g, ' ').trim()
  return line.length <= limit ? line : `${line.slice(0, limit - 1)}…`
}

function formatTook(milliseconds: number): string {
  return milliseconds < 1_000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1_000).toFixed(1)} s`
}
