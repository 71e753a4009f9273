import type { BuildEvent } from '../../../../src/protocol/build-api.ts'

export interface StoryLine {
  seq: number
  at: string
  kind: 'progress' | 'file' | 'failure' | 'question' | 'answer' | 'complete' | 'error'
  text: string
}

export interface OpenQuestion {
  id: string
  question: string
  /** The name that it is kept under; null where words are asked for. */
  secret: string | null
  expiresAt: string
}

/** A build as it is shown: made from its events alone, so that every tab and every reconnection shows the same. */
export interface BuildStory {
  lines: readonly StoryLine[]
  open: readonly OpenQuestion[]
  end: 'complete' | 'error' | null
  /** The last event that is in it. */
  cursor: number
}

export const emptyStory: BuildStory = { lines: [], open: [], end: null, cursor: 0 }

/** The story after one more event. One that is in it already changes nothing. */
export function addBuildEvent(story: BuildStory, event: BuildEvent): BuildStory {
  if (event.seq <= story.cursor) return story
  const lines = [...story.lines, { seq: event.seq, at: event.at, ...lineOf(event) }]
  const isEnd = event.type === 'complete' || event.type === 'error'
  return { lines, open: isEnd ? [] : openAfter(story.open, event), end: isEnd ? event.type : null, cursor: event.seq }
}

function lineOf(event: BuildEvent): Pick<StoryLine, 'kind' | 'text'> {
  switch (event.type) {
    case 'progress':
      return { kind: kindOfProgress(event.message), text: event.message }
    case 'question':
    case 'secret_request':
      return { kind: 'question', text: event.question }
    case 'answer':
      if (event.is_expired) return { kind: 'answer', text: 'Nobody answered in time; it goes on without.' }
      return { kind: 'answer', text: event.answer === null ? 'The secret was given.' : `You: ${event.answer}` }
    case 'complete':
    case 'error':
      return { kind: event.type, text: event.message }
  }
}

function kindOfProgress(message: string): StoryLine['kind'] {
  if (/ is written, \d+ bytes\.$/.test(message)) return 'file'
  return message === 'A try failed.' || /^Example \d+ of \d+ failed\.$/.test(message) ? 'failure' : 'progress'
}

function openAfter(open: readonly OpenQuestion[], event: BuildEvent): readonly OpenQuestion[] {
  if (event.type === 'question' || event.type === 'secret_request') {
    const secret = event.type === 'secret_request' ? event.secret : null
    return [...open, { id: event.question_id, question: event.question, secret, expiresAt: event.expires_at }]
  }
  return event.type === 'answer' ? open.filter(({ id }) => id !== event.question_id) : open
}

/** What a question can be answered with by a button: where it names two words, or wants a yes or a no. */
export function choicesOf(question: string): string[] {
  if (/\byes or no\b|\(y(?:es)?\/n(?:o)?\)/i.test(question)) return ['yes', 'no']
  const [, one, other] =
    /^(?:.*[:,.?!]\s*)?([\p{L}\p{N}°-]{1,30}) or ([\p{L}\p{N}°-]{1,30})\?$/u.exec(question.trim()) ?? []
  return one !== undefined && other !== undefined ? [one, other] : []
}
