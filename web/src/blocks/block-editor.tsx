import { type KeyboardEvent, useEffect, useState } from 'react'
import type { RunCommandReply } from '../../../src/protocol/commands.ts'
import { call } from '../api/call.ts'
import { Button } from '../components/controls.tsx'
import { Failure, Notice, useToasts } from '../components/feedback.tsx'
import { Dialog, TextArea } from '../components/forms.tsx'
import { Panel } from '../components/layout.tsx'
import { Markdown } from '../components/markdown.tsx'
import { Tabs } from '../components/tabs.tsx'
import { t } from '../strings/strings.ts'
import { type Block, saveBlock } from './block-screen.tsx'
import { DiffView } from './block-versions.tsx'
import { addressOf, readProposal } from './blocks.ts'

/** An edit conflict: both texts and the choice. The other text stays available as a version. */
function ConflictView(props: {
  mine: string
  theirs: Block
  isBusy: boolean
  onKeepMine(): void
  onTakeTheirs(): void
}) {
  const { mine, theirs, isBusy, onKeepMine, onTakeTheirs } = props
  return (
    <section aria-label={t.notes.editConflict} className="rounded-xl border border-warn bg-warn-soft p-4">
      <p role="alert" className="font-medium">
        {t.notes.versionSavedWhileEditing(theirs.version)}
      </p>
      <p className="mt-1 mb-3 text-sm">{t.notes.differencesBetweenTextSaved(theirs.version)}</p>
      <DiffView label={t.notes.differences} before={theirs.content} after={mine} />
      <div className="mt-3 flex flex-wrap gap-2">
        <Button kind="main" isBusy={isBusy} onClick={onKeepMine}>
          {t.notes.saveMine}
        </Button>
        <Button onClick={onTakeTheirs}>{t.notes.useTheirs}</Button>
      </div>
    </section>
  )
}

interface Draft {
  content: string
  /** The etag of the version that it started from. */
  etag: string
}

/** An unsaved draft, kept over a reload together with the version that it started from. */
function useDraft(label: string, block: Block) {
  const name = `familiar.block.${label}`
  const [typed, setTyped] = useState<Draft | undefined>(() => readDraft(sessionStorage.getItem(name)))

  function setDraft(draft: Draft | undefined): void {
    setTyped(draft)
    if (draft === undefined) sessionStorage.removeItem(name)
    else sessionStorage.setItem(name, JSON.stringify(draft))
  }

  return {
    // Nothing typed: show the stored text.
    draft: typed ?? { content: block.content, etag: block.etag },
    setDraft,
    drop: () => setDraft(undefined),
  }
}

function readDraft(text: string | null): Draft | undefined {
  if (text === null) return undefined
  const { content, etag } = JSON.parse(text) as Partial<Draft>
  return typeof content === 'string' && typeof etag === 'string' ? { content, etag } : undefined
}

interface BlockEditorProps {
  label: string
  block: Block
  canWrite: boolean
  onSaved(block: Block): void
  /** The size of the pinned text may have changed. */
  onPins(): void
}

/** The text and, beside it, how it reads. A draft stays over a reload until it is saved or discarded. */
export function BlockEditor({ label, block, canWrite, onSaved, onPins }: BlockEditorProps) {
  const toasts = useToasts()
  const { draft, setDraft, drop } = useDraft(label, block)
  const [theirs, setTheirs] = useState<Block>()
  const [problem, setProblem] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)
  const isChanged = draft.content !== block.content
  // A draft from before a reload conflicts with a newer version: say so before the user types.
  const other = theirs ?? (isChanged && draft.etag !== block.etag ? block : undefined)

  async function save(etag: string): Promise<void> {
    setIsBusy(true)
    setProblem(undefined)
    const saved = await saveBlock({ label, content: draft.content, etag })
    setIsBusy(false)
    switch (saved.kind) {
      case 'saved':
        setTheirs(undefined)
        drop()
        onSaved(saved.block)
        onPins()
        return toasts.done(t.notes.savedAsVersion(saved.block.version))
      case 'conflict':
        return setTheirs(saved.theirs)
      case 'refused':
        return setProblem(saved.message)
    }
  }

  function takeTheirs(now: Block): void {
    const mine = draft
    setTheirs(undefined)
    drop()
    onSaved(now)
    toasts.done(t.notes.changesDiscarded, { label: t.common.undo, run: () => setDraft({ ...mine, etag: now.etag }) })
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    if (isChanged && !other) void save(draft.etag)
  }

  if (!canWrite) {
    return (
      <Panel>
        <Markdown text={block.content} />
      </Panel>
    )
  }
  return (
    <div className="space-y-3">
      {other && (
        <ConflictView
          mine={draft.content}
          theirs={other}
          isBusy={isBusy}
          onKeepMine={() => void save(other.etag)}
          onTakeTheirs={() => takeTheirs(other)}
        />
      )}
      <div className="grid gap-4 lg:grid-cols-2">
        <TextArea
          label={t.notes.text}
          rows={20}
          spellCheck
          value={draft.content}
          onKeyDown={onKeyDown}
          onChange={(event) => setDraft({ ...draft, content: event.target.value })}
          className="[&_textarea]:font-mono [&_textarea]:text-sm"
        />
        <section aria-label={t.notes.preview} className="min-w-0">
          <p className="mb-1 text-sm font-medium">{t.notes.preview}</p>
          <div
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
            tabIndex={0}
            className="max-h-[36rem] overflow-y-auto rounded-lg border border-line bg-raised px-4 py-3"
          >
            {draft.content.trim() === '' ? (
              <p className="text-soft">{t.notes.empty}</p>
            ) : (
              <Markdown text={draft.content} />
            )}
          </div>
        </section>
      </div>
      {problem && (
        <Notice kind="error">
          {t.notes.nothingSavedTextStill(problem)}
          {/budget/i.test(problem) && t.notes.noteDoesFitNext}
        </Notice>
      )}
      {!other && (
        <div className="flex flex-wrap items-center gap-2">
          <Button kind="main" isBusy={isBusy} disabled={!isChanged} onClick={() => void save(draft.etag)}>
            {t.common.save}
          </Button>
          <Button disabled={!isChanged} onClick={() => takeTheirs(block)}>
            {t.notes.discardChanges}
          </Button>
          <span role="status" className="text-sm text-soft">
            {isChanged ? t.notes.unsavedChanges : ''}
          </span>
        </div>
      )}
    </div>
  )
}

/** A shorter text for a block, next to the current one: nothing changes before it is accepted. */
export function CompactDialog(props: { label: string; before: string; onClose(): void; onDone(): void }) {
  const { label, before, onClose, onDone } = props
  const toasts = useToasts()
  const [reply, setReply] = useState<RunCommandReply>()
  const [error, setError] = useState<Error>()
  const [isBusy, setIsBusy] = useState(false)
  const line = `/compact ${addressOf(label)}`

  useEffect(() => {
    const controller = new AbortController()
    call('commands.run', { line }, { signal: controller.signal }).then(setReply, (cause: Error) => {
      if (!controller.signal.aborted) setError(cause)
    })
    // Closing the dialog cancels the request.
    return () => controller.abort()
  }, [line])

  async function accept(confirm: string): Promise<void> {
    setIsBusy(true)
    try {
      const next = await call('commands.run', { line, confirm })
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
    <Dialog isOpen onClose={onClose} title={t.notes.shorten(label)} description={t.notes.rewriteMoreBrieflyWithout}>
      {error && <Failure error={error} />}
      {!reply && !error && (
        <p role="status" className="breathing text-soft">
          {t.notes.writingShorterText}
        </p>
      )}
      {reply && !reply.question && <Notice kind={reply.ok ? 'note' : 'warning'}>{reply.text}</Notice>}
      {reply?.question && (
        <>
          <Proposal question={reply.question.text} before={before} />
          <div className="mt-4 flex flex-wrap gap-2">
            <Button kind="main" isBusy={isBusy} onClick={() => void accept(reply.question?.confirm ?? '')}>
              {t.notes.useShorterText}
            </Button>
            <Button onClick={onClose}>{t.notes.keepAsItIs}</Button>
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
      <p className="mb-2 text-sm text-soft">{t.notes.tokensCurrentTextStays(beforeTokens, afterTokens, means)}</p>
      <Tabs
        label={t.notes.beforeAndAfter}
        value={tab}
        onChange={setTab}
        tabs={[
          { name: 'before', label: t.notes.before, content: <Words text={before} /> },
          { name: 'after', label: t.notes.after, content: <Words text={after} /> },
          {
            name: 'changes',
            label: t.notes.changes,
            content: <DiffView label={t.notes.changes} before={before} after={after} />,
          },
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
