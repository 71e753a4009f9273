import { useEffect, useRef, useState } from 'react'
import type { BuildEvent } from '../../../src/protocol/custom-tools.ts'
import { call, callRaw } from '../api/call.ts'
import { follow } from '../api/follow.ts'
import { useIsVisible } from '../notices/notices.ts'
import { t } from '../strings/strings.ts'

export interface StoryLine {
  seq: number
  at: string
  kind: 'progress' | 'file' | 'failure' | 'question' | 'answer' | 'complete' | 'error'
  text: string
}

export interface BuildStoryQuestion {
  id: string
  question: string
  /** The labels of the answers that it offers. */
  options: readonly string[]
  multiple: boolean
  /** The name of the secret; null for a text question. */
  secret: string | null
  expiresAt: string
}

/** A build for display: built from its events alone, so that every tab and every reconnection shows the same. */
export interface BuildStory {
  lines: readonly StoryLine[]
  open: readonly BuildStoryQuestion[]
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
      if (event.is_expired) return { kind: 'answer', text: t.builds.noAnswerTimeContinuing }
      return { kind: 'answer', text: event.answer === null ? t.builds.secretEntered : t.builds.you(event.answer) }
    case 'complete':
    case 'error':
      return { kind: event.type, text: event.message }
  }
}

function kindOfProgress(message: string): StoryLine['kind'] {
  if (/ is written, \d+ bytes\.$/.test(message)) return 'file'
  return message === 'A try failed.' || /^Example \d+ of \d+ failed\.$/.test(message) ? 'failure' : 'progress'
}

function openAfter(open: readonly BuildStoryQuestion[], event: BuildEvent): readonly BuildStoryQuestion[] {
  if (event.type === 'question' || event.type === 'secret_request') {
    const secret = event.type === 'secret_request' ? event.secret : null
    const { question_id: id, question, expires_at: expiresAt } = event
    const { options = [], multiple = false } = event.type === 'question' ? event : {}
    return [...open, { id, question, options: options.map(({ label }) => label), multiple, secret, expiresAt }]
  }
  return event.type === 'answer' ? open.filter(({ id }) => id !== event.question_id) : open
}

/** The buttons for a question: its options, or the two words that it offers, or yes and no. */
export function choicesOf({ question, options, multiple }: BuildStoryQuestion): readonly string[] {
  if (options.length > 0) return multiple ? [] : options
  if (/\byes or no\b|\(y(?:es)?\/n(?:o)?\)/i.test(question)) return ['yes', 'no']
  const [, one, other] =
    /^(?:.*[:,.?!]\s*)?([\p{L}\p{N}°-]{1,30}) or ([\p{L}\p{N}°-]{1,30})\?$/u.exec(question.trim()) ?? []
  return one !== undefined && other !== undefined ? [one, other] : []
}

/**
 * A build from start to end. Only a running build has its own connection, and only while the page is visible: a browser has few
 * of them.
 */
export function useBuild(id: string): { story: BuildStory; isLoaded: boolean; error: Error | undefined } {
  const [story, setStory] = useState(emptyStory)
  const [isLoaded, setIsLoaded] = useState(false)
  const [error, setError] = useState<Error>()
  const isVisible = useIsVisible()
  const current = useRef({ id, story: emptyStory })

  useEffect(() => {
    if (current.current.id !== id) current.current = { id, story: emptyStory }
    if (!isVisible || current.current.story.end !== null) return
    const controller = new AbortController()
    const { signal } = controller

    function add(events: readonly BuildEvent[]): void {
      current.current.story = events.reduce(addBuildEvent, current.current.story)
      setStory(current.current.story)
      // The stream has ended; following it would only reconnect.
      if (current.current.story.end !== null) controller.abort()
    }

    async function watch(): Promise<void> {
      const position = () => ({ id, after: current.current.story.cursor })
      add((await call('builds.events', position(), { signal })).events)
      setIsLoaded(true)
      if (signal.aborted) return
      await follow({
        open: () => callRaw('builds.events', position(), { accept: 'text/event-stream', signal }),
        // Only builds send under the standard's own name; an error of the stream itself ends it.
        onEvent: ({ name, data }) => name === 'message' && add([data as BuildEvent]),
        signal,
      })
    }
    watch().catch((cause: Error) => {
      if (!signal.aborted) setError(cause)
    })
    return () => controller.abort()
  }, [id, isVisible])

  return { story, isLoaded, error }
}
