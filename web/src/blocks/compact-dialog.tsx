import { useEffect, useState } from 'react'
import type { RunCommandReply } from '../../../src/protocol/command-api.ts'
import { ask } from '../api/ask.ts'
import { Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Failure, Notice } from '../components/notice.tsx'
import { Tabs } from '../components/tabs.tsx'
import { useToasts } from '../components/toast.tsx'
import { addressOf } from './block-label.ts'
import { readProposal } from './compact-answer.ts'
import { DiffView } from './diff-view.tsx'

/** A shorter text for a block, beside the one that is there: nothing changes before it is accepted. */
export function CompactDialog(props: { label: string; before: string; onClose(): void; onDone(): void }) {
  const { label, before, onClose, onDone } = props
  const toasts = useToasts()
  const [reply, setReply] = useState<RunCommandReply>()
  const [error, setError] = useState<Error>()
  const [isBusy, setIsBusy] = useState(false)
  const line = `/compact ${addressOf(label)}`

  useEffect(() => {
    const controller = new AbortController()
    ask<RunCommandReply>('/commands', { body: { line }, signal: controller.signal }).then(setReply, (cause: Error) => {
      if (!controller.signal.aborted) setError(cause)
    })
    // Whoever closes it no longer waits for the model.
    return () => controller.abort()
  }, [line])

  async function accept(confirm: string): Promise<void> {
    setIsBusy(true)
    try {
      const next = await ask<RunCommandReply>('/commands', { body: { line, confirm } })
      // It was changed in the meantime: there is another proposal.
      if (next.question || !next.ok) return setReply(next)
      toasts.done(next.text)
      onDone()
      onClose()
    } catch (cause) {
      toasts.failed(cause)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`Compact ${label}`}
      description="Fewer words, and nothing that is needed lost."
    >
      {error && <Failure error={error} />}
      {!reply && !error && (
        <p role="status" className="breathing text-soft">
          A shorter text is being written …
        </p>
      )}
      {reply && !reply.question && <Notice kind={reply.ok ? 'note' : 'warning'}>{reply.text}</Notice>}
      {reply?.question && (
        <>
          <Proposal question={reply.question.text} before={before} />
          <div className="mt-4 flex flex-wrap gap-2">
            <Button kind="main" isBusy={isBusy} onClick={() => void accept(reply.question?.confirm ?? '')}>
              Take the shorter text
            </Button>
            <Button onClick={onClose}>Leave it as it is</Button>
          </div>
        </>
      )}
    </Dialog>
  )
}

function Proposal({ question, before }: { question: string; before: string }) {
  const [tab, setTab] = useState('after')
  const proposal = readProposal(question, before)
  if (!proposal) return <pre className="whitespace-pre-wrap font-sans text-sm">{question}</pre>
  const { means, beforeTokens, after, afterTokens } = proposal
  return (
    <>
      <p className="mb-2 text-sm text-soft">
        {beforeTokens} → {afterTokens} tokens, {means}. The text of now stays as a version.
      </p>
      <Tabs
        label="Before and after"
        value={tab}
        onChange={setTab}
        tabs={[
          { name: 'before', label: 'Before', content: <Words text={before} /> },
          { name: 'after', label: 'After', content: <Words text={after} /> },
          { name: 'changes', label: 'Changes', content: <DiffView label="Changes" before={before} after={after} /> },
        ]}
      />
    </>
  )
}

function Words({ text }: { text: string }) {
  return (
    <pre
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
      tabIndex={0}
      className="max-h-[45vh] overflow-auto whitespace-pre-wrap rounded-xl border border-line bg-sunken p-3 font-mono text-[0.8125rem]"
    >
      {text}
    </pre>
  )
}
