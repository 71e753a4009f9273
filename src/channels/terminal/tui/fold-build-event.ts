import type { BuildEvent } from '../../../protocol/build-api.ts'
import { type Ask, type BuildItem, type Conversation, type Tone, withItems } from './conversation.ts'

/** What one event of a build makes of the conversation: its lines in one place, its questions where the user types. */
export function foldBuildEvent(conversation: Conversation, name: string, event: BuildEvent): Conversation {
  const place = conversation.items.findLastIndex((item) => item.kind === 'build' && item.buildId === event.build_id)
  const found = conversation.items[place]
  const build: BuildItem =
    found?.kind === 'build' ? found : { kind: 'build', buildId: event.build_id, name, state: 'running', lines: [] }
  const changed = { ...build, state: stateAfter(event), lines: [...build.lines, lineOf(event)] }
  const shown =
    place < 0 ? withItems(conversation, changed) : { ...conversation, items: conversation.items.with(place, changed) }
  return { ...shown, asks: asksAfter(shown.asks, name, event) }
}

function stateAfter({ type }: BuildEvent): BuildItem['state'] {
  if (type === 'complete') return 'complete'
  return type === 'error' ? 'failed' : 'running'
}

function lineOf(event: BuildEvent): { tone: Tone; text: string } {
  switch (event.type) {
    case 'progress':
      return { tone: 'quiet', text: event.message }
    case 'question':
    case 'secret_request':
      return { tone: 'warning', text: event.question }
    case 'answer':
      return { tone: 'quiet', text: answerOf(event) }
    case 'complete':
      return { tone: 'plain', text: event.message }
    case 'error':
      return { tone: 'bad', text: event.message }
  }
}

function answerOf({ answer, is_expired }: Extract<BuildEvent, { type: 'answer' }>): string {
  if (is_expired) return 'Nobody answered in time; the Builder goes on without.'
  return answer === null ? 'The secret was given.' : `Answered: ${answer}`
}

function asksAfter(asks: readonly Ask[], name: string, event: BuildEvent): readonly Ask[] {
  switch (event.type) {
    case 'question':
    case 'secret_request': {
      if (asks.some(({ id }) => id === event.question_id)) return asks
      const common = { id: event.question_id, name, text: event.question }
      const ask: Ask =
        event.type === 'question'
          ? { kind: 'question', ...common }
          : { kind: 'secret', ...common, secret: event.secret }
      return [...asks, ask]
    }
    case 'answer':
      return asks.filter(({ id }) => id !== event.question_id)
    default:
      return asks
  }
}
