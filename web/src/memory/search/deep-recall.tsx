import { useEffect, useState } from 'react'
import type { DeepProgressReply, DeepRecallReply, DeepRecallRequest } from '../../../../src/protocol/memory-api.ts'
import { Button } from '../../components/button.tsx'
import { Icon } from '../../components/icon.tsx'
import { Markdown } from '../../components/markdown.tsx'
import { Failure, Notice } from '../../components/notice.tsx'
import { Panel } from '../../components/screen.tsx'
import { askWithProgress } from '../ask-with-progress.ts'

type State =
  | { kind: 'not_asked' }
  | { kind: 'asking'; progress: DeepProgressReply | undefined }
  | { kind: 'answered'; reply: DeepRecallReply }
  | { kind: 'failed'; error: Error }

/** The same question asked in several ways, followed along what belongs together, and summed up by a model. */
export function DeepRecall({ question }: { question: string }) {
  const [asked, setAsked] = useState<string>()
  const [state, setState] = useState<State>({ kind: 'not_asked' })

  useEffect(() => {
    if (asked !== question) return setState({ kind: 'not_asked' })
    const controller = new AbortController()
    const body: DeepRecallRequest = { question }
    setState({ kind: 'asking', progress: undefined })
    askWithProgress<DeepProgressReply, DeepRecallReply>('/memories/deep', {
      body: JSON.stringify(body),
      mediaType: 'application/json',
      signal: controller.signal,
      onProgress: (progress) => setState({ kind: 'asking', progress }),
    }).then(
      (reply) => setState({ kind: 'answered', reply }),
      (error: Error) => {
        if (!controller.signal.aborted) setState({ kind: 'failed', error })
      },
    )
    return () => controller.abort()
  }, [asked, question])

  return (
    <div className="my-3" aria-live="polite">
      {state.kind === 'not_asked' && (
        <Button size="small" onClick={() => setAsked(question)}>
          <Icon name="brain" size={14} /> Look deeper, and sum it up
        </Button>
      )}
      {state.kind === 'asking' && (
        <p className="text-sm text-soft">
          <span className="breathing">{described(state.progress)}</span>{' '}
          <Button size="small" kind="quiet" onClick={() => setAsked(undefined)}>
            Stop
          </Button>
        </p>
      )}
      {state.kind === 'failed' && <Failure error={state.error} onRetry={() => setAsked(undefined)} />}
      {state.kind === 'answered' && <Answer reply={state.reply} />}
    </div>
  )
}

function Answer({ reply: { summary, searches, memories, notes } }: { reply: DeepRecallReply }) {
  return (
    <Panel>
      <Markdown text={summary} />
      <p className="mt-3 text-xs text-soft">
        From {memories.length} memories, asked as: {searches.join(' · ')}
      </p>
      {notes.map((note) => (
        <div key={note} className="mt-2">
          <Notice>{note}</Notice>
        </div>
      ))}
    </Panel>
  )
}

function described(progress: DeepProgressReply | undefined): string {
  switch (progress?.status) {
    case 'searching':
      return `Asking in ${progress.searches.length} ways …`
    case 'found':
      return `${progress.count} found; summing them up …`
    default:
      return 'Thinking of other ways to ask …'
  }
}
