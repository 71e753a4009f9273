import { type KeyboardEvent, useState } from 'react'
import { Button } from '../components/button.tsx'
import { TextArea } from '../components/field.tsx'
import { Markdown } from '../components/markdown.tsx'
import { Notice } from '../components/notice.tsx'
import { Panel } from '../components/screen.tsx'
import { useToasts } from '../components/toast.tsx'
import { ConflictView } from './conflict-view.tsx'
import { saveBlock } from './save-block.ts'
import type { Block } from './use-block.ts'
import { useDraft } from './use-draft.ts'

interface BlockEditorProps {
  label: string
  block: Block
  canWrite: boolean
  onSaved(block: Block): void
  /** What the prompt has may be another size now. */
  onPins(): void
}

/** The text and, beside it, how it reads. What is typed stays over a reload until it is saved or let go. */
export function BlockEditor({ label, block, canWrite, onSaved, onPins }: BlockEditorProps) {
  const toasts = useToasts()
  const { draft, setDraft, drop } = useDraft(label, block)
  const [theirs, setTheirs] = useState<Block>()
  const [problem, setProblem] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)
  const isChanged = draft.content !== block.content
  // A draft of before a reload, while somebody else wrote: it is told before anything is typed.
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
        return toasts.done(`Saved as version ${saved.block.version}.`)
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
    toasts.done('Your text is let go.', { label: 'Undo', run: () => setDraft({ ...mine, etag: now.etag }) })
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
          label="Text"
          rows={20}
          spellCheck
          value={draft.content}
          onKeyDown={onKeyDown}
          onChange={(event) => setDraft({ ...draft, content: event.target.value })}
          className="[&_textarea]:font-mono [&_textarea]:text-sm"
        />
        <section aria-label="Preview" className="min-w-0">
          <p className="mb-1 text-sm font-medium">How it reads</p>
          <div
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
            tabIndex={0}
            className="max-h-[36rem] overflow-y-auto rounded-lg border border-line bg-raised px-4 py-3"
          >
            {draft.content.trim() === '' ? (
              <p className="text-soft">Nothing yet.</p>
            ) : (
              <Markdown text={draft.content} />
            )}
          </div>
        </section>
      </div>
      {problem && (
        <Notice kind="error">
          {problem} Nothing was written, and your text is still here.
          {/budget/i.test(problem) &&
            ' A block must fit beside what is pinned, so that it can be pinned: make it smaller, or unpin another one.'}
        </Notice>
      )}
      {!other && (
        <div className="flex flex-wrap items-center gap-2">
          <Button kind="main" isBusy={isBusy} disabled={!isChanged} onClick={() => void save(draft.etag)}>
            Save
          </Button>
          <Button disabled={!isChanged} onClick={() => takeTheirs(block)}>
            Let go of the changes
          </Button>
          <span role="status" className="text-sm text-soft">
            {isChanged ? 'Not saved yet.' : ''}
          </span>
        </div>
      )}
    </div>
  )
}
